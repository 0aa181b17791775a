// Package dialect is the table of the dialects that this program knows. A new
// one has a folder of its own beside this and a line in All.
package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/nova"
	"github.com/sesslog/sesslog/core/omp"
	"github.com/sesslog/sesslog/core/openrath"
	"github.com/sesslog/sesslog/core/operator"
	"github.com/sesslog/sesslog/core/pi"
)

// All returns the dialects by name. The caller owns the map.
func All() core.Dialects {
	return core.Dialects{
		"nova":     nova.Dialect{},
		"omp":      omp.Dialect{},
		"openrath": openrath.Dialect{},
		"operator": operator.Dialect{},
		"pi":       pi.Dialect{},
	}
}

// Named returns the dialect called name, or core.ErrInvalid naming those there
// are.
func Named(name string) (core.Dialect, error) {
	all := All()
	if d, ok := all[name]; ok {
		return d, nil
	}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("dialect %q is unknown, there are: %s: %w", name, strings.Join(names, ", "), core.ErrInvalid)
}

// Detect returns the dialect whose files begin as data does. core.ErrInvalid
// when there is none: data is no session file.
func Detect(data []byte) (core.Dialect, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("the file is empty: %w", core.ErrInvalid)
	}
	all := All()
	for _, name := range []string{"openrath", "nova", "omp", "operator", "pi"} { // from the narrowest rule to the widest
		if all[name].Detect(data) {
			return all[name], nil
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
