package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

func init() {
	for verb, f := range map[string]function{
		"id":     func(m *manager, _ call) (string, error) { return string(m.s.ID()), nil },
		"header": func(m *manager, _ call) (string, error) { return string(m.s.Header().Line), nil },
		"cwd":    func(m *manager, _ call) (string, error) { return m.s.CWD(), nil },
		"parent": func(m *manager, _ call) (string, error) { return orNone(m.s.Header().Parent), nil },
		"leaf": func(m *manager, _ call) (string, error) {
			id, _ := m.s.Leaf().ID()
			return orNone(id), nil
		},
		"leaf-entry": func(m *manager, _ call) (string, error) { return lineOf(m.s.LeafEntry()) },
		"entry":      func(m *manager, c call) (string, error) { return lineOf(m.s.Entry(c.arg(0))) },
		"entries":    func(m *manager, _ call) (string, error) { return orNone(ids(m.s.Entries())), nil },
		"children":   func(m *manager, c call) (string, error) { return orNone(ids(m.s.Children(c.arg(0)))), nil },
		"label":      func(m *manager, c call) (string, error) { return orNone(m.s.Label(c.arg(0))), nil },
		"name":       func(m *manager, _ call) (string, error) { return orNone(m.s.Name()), nil },
		"path": func(m *manager, c call) (string, error) {
			path, err := m.s.Path(leafOf(c.arg(0)))
			return orNone(ids(path)), err
		},
		"count": func(m *manager, _ call) (string, error) {
			path, err := m.s.Path(core.Leaf{})
			return fmt.Sprintf("%d entries, %d on the path", len(m.s.Entries()), len(path)), err
		},
		"tree": tree,
		"info": func(m *manager, _ call) (string, error) {
			info, err := m.s.Info()
			if err != nil {
				return "", err
			}
			b, err := json.Marshal(info)
			return string(b), err
		},
		"context": func(m *manager, c call) (string, error) {
			b, err := m.s.Context(leafOf(c.arg(0)))
			return string(b), err
		},
		"usable": usable,
	} {
		calls[verb] = f
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func lineOf(e core.Entry, ok bool) (string, error) {
	if !ok {
		return "none", nil
	}
	return string(e.Line), nil
}

// tree prints a row for each entry, indented by its depth.
func tree(m *manager, _ call) (string, error) {
	var b strings.Builder
	for _, n := range m.s.Tree() {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", n.Depth), n.ID)
		if n.Label != nil {
			fmt.Fprintf(&b, " [%s]", *n.Label)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// usable prints the context that Operator sends.
func usable(m *manager, c call) (string, error) {
	b, err := m.s.Context(leafOf(c.arg(0)))
	if err != nil {
		return "", err
	}
	b, err = operator.Usable(b)
	return string(b), err
}
