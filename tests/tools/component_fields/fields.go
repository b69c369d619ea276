// Copyright: (c) The kubephase authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"go/ast"
	"reflect"
	"strconv"
	"strings"
)

// known are types whose JSON form is not what their Go declaration says.
var known = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":        "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":            "string",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":        "quantity",
	"k8s.io/apimachinery/pkg/api/resource.QuantityValue":   "quantity",
	"k8s.io/component-base/logs/api/v1.TimeOrMetaDuration": "int or duration",
	"time.Duration": "int",
}

var basic = map[string]string{
	"string": "string", "bool": "bool", "float32": "float", "float64": "float",
	"int": "int", "int8": "int", "int16": "int", "int32": "int", "int64": "int",
	"uint": "int", "uint8": "int", "uint16": "int", "uint32": "int", "uint64": "int",
}

// walk collects the fields of one document.
type walk struct {
	source *source
	fields map[string]string
}

// fields lists path and JSON type of every field that the document may have.
func (s *source) fields(pkg, typ string) (map[string]string, error) {
	w := &walk{source: s, fields: map[string]string{}}
	loaded, err := s.load(pkg)
	if err != nil {
		return nil, err
	}
	declared, ok := loaded.types[typ]
	if !ok {
		return nil, fmt.Errorf("no type %s in %s", typ, pkg)
	}
	return w.fields, w.structure(loaded, declared, declared.Type.(*ast.StructType), "")
}

func (w *walk) structure(pkg *goPackage, in *ast.TypeSpec, structure *ast.StructType, prefix string) error {
	for _, field := range structure.Fields.List {
		name, inline := jsonName(field)
		if name == "-" {
			continue
		}
		if inline {
			if _, err := w.describe(pkg, in, field.Type, prefix); err != nil {
				return fmt.Errorf("%s: %w", prefix, err)
			}
			continue
		}
		path := name
		if prefix != "" {
			path = prefix + "." + name
		}
		described, err := w.describe(pkg, in, field.Type, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		w.fields[path] = described
	}
	return nil
}

// describe names the JSON type of an expression and, for an object, lists what is in it.
func (w *walk) describe(pkg *goPackage, in *ast.TypeSpec, expression ast.Expr, path string) (string, error) {
	switch typed := expression.(type) {
	case *ast.StarExpr:
		return w.describe(pkg, in, typed.X, path)
	case *ast.ArrayType:
		element, err := w.describe(pkg, in, typed.Elt, path+"[]")
		return "list of " + element, err
	case *ast.MapType:
		element, err := w.describe(pkg, in, typed.Value, path+"[]")
		return "map of " + element, err
	case *ast.StructType:
		return "object", w.structure(pkg, in, typed, path)
	case *ast.SelectorExpr:
		imported, ok := pkg.imports[in][typed.X.(*ast.Ident).Name]
		if !ok {
			return "", fmt.Errorf("no import for %s", typed.X)
		}
		return w.named(imported, typed.Sel.Name, path)
	case *ast.Ident:
		if name, ok := basic[typed.Name]; ok {
			return name, nil
		}
		return w.named(pkg.path, typed.Name, path)
	}
	return "", fmt.Errorf("type %T is not understood", expression)
}

func (w *walk) named(pkg, name, path string) (string, error) {
	if described, ok := known[pkg+"."+name]; ok {
		return described, nil
	}
	loaded, err := w.source.load(pkg)
	if err != nil {
		return "", err
	}
	declared, ok := loaded.types[name]
	if !ok {
		return "", fmt.Errorf("no type %s in %s", name, pkg)
	}
	if loaded.ownReading[name] {
		return "", fmt.Errorf("%s.%s reads JSON in a way of its own: name its JSON type in known", pkg, name)
	}
	return w.describe(loaded, declared, declared.Type, path)
}

// jsonName tells a field's name in JSON, or that its own fields stand in its place.
func jsonName(field *ast.Field) (name string, inline bool) {
	var tag string
	if field.Tag != nil {
		unquoted, _ := strconv.Unquote(field.Tag.Value)
		tag = reflect.StructTag(unquoted).Get("json")
	}
	name = strings.Split(tag, ",")[0]
	if name == "" && len(field.Names) == 0 {
		return "", true
	}
	if name == "" {
		name = field.Names[0].Name
	}
	return name, false
}
