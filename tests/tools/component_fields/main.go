// Copyright: (c) The kubephase authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Command component_fields prints the Python table of component configuration fields, release by release.
package main

import (
	"fmt"
	"log"
	"os"
)

// releases names, for each minor, a patch whose modules can be had.
var releases = []release{
	{22, 17}, {23, 17}, {24, 17}, {25, 9}, {26, 13}, {27, 8}, {28, 15}, {29, 15},
	{30, 5}, {31, 4}, {32, 5}, {33, 13}, {34, 10}, {35, 8}, {36, 4}, {37, 1},
}

type release struct{ minor, patch int }

func (r release) module() string { return fmt.Sprintf("v0.%d.%d", r.minor, r.patch) }

// documents are the tables to print: name in Python, package and type of the Go struct.
var documents = []struct{ table, pkg, typ string }{
	{"_KUBELET", "k8s.io/kubelet/config/v1beta1", "KubeletConfiguration"},
	{"_KUBE_PROXY", "k8s.io/kube-proxy/config/v1alpha1", "KubeProxyConfiguration"},
}

func main() {
	log.SetFlags(0)
	histories := make([]*history, len(documents))
	for i := range documents {
		histories[i] = newHistory()
	}
	for _, r := range releases {
		source := newSource(r)
		for i, document := range documents {
			fields, err := source.fields(document.pkg, document.typ)
			if err != nil {
				log.Fatalf("1.%d: %s: %v", r.minor, document.typ, err)
			}
			histories[i].add(r.minor, fields)
			log.Printf("1.%d: %s: %d fields", r.minor, document.typ, len(fields))
		}
	}
	writePython(os.Stdout, histories)
}
