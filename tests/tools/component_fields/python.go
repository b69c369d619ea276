// Copyright: (c) The kubephase authors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	_ "embed"
	"fmt"
	"io"
	"sort"
	"strings"
)

//go:embed component_fields.py.txt
var template string

// history remembers in which minors a field had which type.
type history struct{ minors map[string]map[string][]int }

func newHistory() *history { return &history{minors: map[string]map[string][]int{}} }

func (h *history) add(minor int, fields map[string]string) {
	for path, typ := range fields {
		if h.minors[path] == nil {
			h.minors[path] = map[string][]int{}
		}
		h.minors[path][typ] = append(h.minors[path][typ], minor)
	}
}

// entry is one field with one type in an uninterrupted range of minors.
type entry struct {
	path, typ   string
	first, last int
}

// lines prints one line an entry, an object before what is in it.
func (h *history) lines() []string {
	var entries []entry
	for path, types := range h.minors {
		for typ, minors := range types {
			for _, run := range runs(minors) {
				entries = append(entries, entry{path, typ, run[0], run[1]})
			}
		}
	}
	sort.Slice(entries, func(i, j int) bool {
		if entries[i].path != entries[j].path {
			return entries[i].path < entries[j].path
		}
		return entries[i].first < entries[j].first
	})
	lines := make([]string, len(entries))
	for i, one := range entries {
		lines[i] = one.path + ": " + one.typ + rangeText(one.first, one.last)
	}
	return lines
}

// runs cuts ascending minors into uninterrupted ranges.
func runs(minors []int) [][2]int {
	var cut [][2]int
	for _, minor := range minors {
		if n := len(cut); n > 0 && cut[n-1][1] == minor-1 {
			cut[n-1][1] = minor
		} else {
			cut = append(cut, [2]int{minor, minor})
		}
	}
	return cut
}

func rangeText(first, last int) string {
	oldest, newest := releases[0].minor, releases[len(releases)-1].minor
	switch {
	case first == oldest && last == newest:
		return ""
	case first == oldest:
		return fmt.Sprintf(" @-%d", last)
	case last == newest:
		return fmt.Sprintf(" @%d-", first)
	default:
		return fmt.Sprintf(" @%d-%d", first, last)
	}
}

func writePython(out io.Writer, histories []*history) {
	text := template
	for i, document := range documents {
		text = strings.Replace(text, "@"+document.table+"@", strings.Join(histories[i].lines(), "\n"), 1)
	}
	fmt.Fprint(out, text)
}
