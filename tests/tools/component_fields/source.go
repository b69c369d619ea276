// Copyright: (c) The kubephase authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// source is the Go code of one release, fetched and parsed package by package.
type source struct {
	release  release
	modules  map[string]string
	packages map[string]*goPackage
}

// goPackage holds the type declarations of a package and which of them read JSON in a way of their own.
type goPackage struct {
	path       string
	types      map[string]*ast.TypeSpec
	imports    map[*ast.TypeSpec]map[string]string
	ownReading map[string]bool
}

func newSource(r release) *source {
	return &source{release: r, modules: map[string]string{}, packages: map[string]*goPackage{}}
}

// moduleDir fetches the staging module that holds a package and tells where it lies.
func (s *source) moduleDir(pkg string) (string, error) {
	parts := strings.SplitN(pkg, "/", 3)
	if len(parts) < 3 || parts[0] != "k8s.io" {
		return "", fmt.Errorf("%s is not in a staging module: name its JSON type in known", pkg)
	}
	module := strings.Join(parts[:2], "/")
	if _, ok := s.modules[module]; !ok {
		command := exec.Command("go", "mod", "download", "-json", module+"@"+s.release.module())
		command.Dir = os.TempDir()
		out, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("go mod download %s: %w: %s", module, err, out)
		}
		var downloaded struct{ Dir string }
		if err := json.Unmarshal(out, &downloaded); err != nil {
			return "", err
		}
		s.modules[module] = downloaded.Dir
	}
	return filepath.Join(s.modules[module], parts[2]), nil
}

// load parses a package once.
func (s *source) load(pkg string) (*goPackage, error) {
	if loaded, ok := s.packages[pkg]; ok {
		return loaded, nil
	}
	dir, err := s.moduleDir(pkg)
	if err != nil {
		return nil, err
	}
	notTests := func(info fs.FileInfo) bool { return !strings.HasSuffix(info.Name(), "_test.go") }
	parsed, err := parser.ParseDir(token.NewFileSet(), dir, notTests, 0)
	if err != nil {
		return nil, err
	}
	loaded := &goPackage{
		path:       pkg,
		types:      map[string]*ast.TypeSpec{},
		imports:    map[*ast.TypeSpec]map[string]string{},
		ownReading: map[string]bool{},
	}
	for _, one := range parsed {
		for _, file := range one.Files {
			loaded.addFile(file)
		}
	}
	s.packages[pkg] = loaded
	return loaded, nil
}

func (p *goPackage) addFile(file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = path
	}
	for _, declaration := range file.Decls {
		switch declared := declaration.(type) {
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok {
					p.types[typ.Name.Name] = typ
					p.imports[typ] = imports
				}
			}
		case *ast.FuncDecl:
			if declared.Recv != nil && (declared.Name.Name == "UnmarshalJSON" || declared.Name.Name == "UnmarshalText") {
				receiver := declared.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				p.ownReading[receiver.(*ast.Ident).Name] = true
			}
		}
	}
}
