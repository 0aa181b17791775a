// Package dialect is the table of the dialects that this program knows. A new
// one has a folder of its own beside this and a line in the table.
package dialect

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/nova"
	"github.com/sesslog/sesslog/core/omp"
	"github.com/sesslog/sesslog/core/openrath"
	"github.com/sesslog/sesslog/core/operator"
	"github.com/sesslog/sesslog/core/pi"
)

// rules are those that sessions are read by.
type rules struct {
	name, family string
	core.Dialect
}

// table has the rules that sessions are read by, from the narrowest Detect to
// the widest. Where the name is not the dialect's own, they are the rules of an
// older version, by which sessions can be read but of which there are none.
// Dialects of one family read each other's lines, each by its own rules.
var table = []rules{
	{"openrath", "openrath", openrath.Dialect{}},
	{"nova", "nova", nova.Dialect{}},
	{"omp", "pi", omp.Dialect{}},
	{"operator", "operator", operator.Dialect{}},
	{"pi", "pi", pi.Dialect{}},
	{"pi@0.73", "pi", pi.Dialect{}},
}

// All returns the dialects by name. The caller owns the map.
func All() core.Dialects {
	all := core.Dialects{}
	for _, row := range table {
		if row.name == row.Name() {
			all[row.name] = row.Dialect
		}
	}
	return all
}

// Names returns the names of all dialects, or with versions those of all
// profiles.
func Names(versions bool) []string {
	var names []string
	for _, row := range table {
		if versions || row.name == row.Name() {
			names = append(names, row.name)
		}
	}
	return names
}

// Named returns the dialect called name, or core.ErrInvalid naming those there
// are.
func Named(name string) (core.Dialect, error) {
	if d, ok := All()[name]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("dialect %q is unknown, there are: %s: %w", name, strings.Join(Names(false), ", "), core.ErrInvalid)
}

// Detect returns the dialect whose files begin as data does. core.ErrInvalid
// when there is none: data is no session file.
func Detect(data []byte) (core.Dialect, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("the file is empty: %w", core.ErrInvalid)
	}
	for _, row := range table {
		if row.Detect(data) {
			return row.Dialect, nil
		}
	}
	first, _, _ := bytes.Cut(data[:min(len(data), 120)], []byte("\n"))
	return nil, fmt.Errorf("not a session file: no agent's session begins with %q: %w", first, core.ErrInvalid)
}

// Read reads a session file in the dialect called name, or in the one found
// out from its bytes where name is empty.
func Read(name string, data []byte) (*core.File, core.Dialect, error) {
	find := func() (core.Dialect, error) { return Detect(data) }
	if name != "" {
		find = func() (core.Dialect, error) { return Named(name) }
	}
	d, err := find()
	if err != nil {
		return nil, nil, err
	}
	f, err := d.File(data)
	return f, d, err
}
