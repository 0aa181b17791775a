package dialect

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/acp"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/core/dialect/claude"
	"github.com/sesslog/sesslog/core/dialect/codex"
	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// table is everything that is known of dialects outside of their folders, in
// the order in which Detect asks them: from the narrowest rule to the widest.
// The first row of a dialect has the rules of the newest version known of its
// agent, and its name is the dialect's.
var table = []Profile{
	{Name: "acp", Dialect: acp.Dialect{}, family: "acp"},
	{Name: "bytestream", Dialect: bytestream.Dialect{}, family: "bytestream"},
	{Name: "openrath", Dialect: openrath.Dialect{}, family: "openrath"},
	{Name: "codex", Dialect: codex.Dialect{}, family: "codex"},
	{Name: "opencode", Dialect: opencode.Dialect{}, family: "opencode"},
	{Name: "nova", Dialect: nova.Dialect{}, family: "nova"},
	{Name: "claude", Dialect: claude.Dialect{}, family: "claude"},
	{Name: "operator", Dialect: operator.Dialect{}, family: "operator"},
	{Name: "operator@request", Dialect: operator.Dialect{Request: true}, family: "operator"},
	{Name: "omp", Dialect: omp.Dialect{}, family: "pi"},
	{Name: "pi", Dialect: pi.Dialect{}, family: "pi"},
	{Name: "pi@1.5", Dialect: pi.Dialect{}, family: "pi"},
	{Name: "pi@0.73", Dialect: pi.Dialect{V073: true}, family: "pi"},
}

// All returns the dialects by name. The caller owns the map.
func All() core.Dialects {
	all := core.Dialects{}
	for _, p := range table {
		if p.Name == p.Dialect.Name() {
			all[p.Name] = p.Dialect
		}
	}
	return all
}

// Named returns the dialect called name, or a core.ErrInvalid that lists the
// known names.
func Named(name string) (core.Dialect, error) {
	all := All()
	if d, ok := all[name]; ok {
		return d, nil
	}
	return nil, unknown("dialect", name, slices.Sorted(maps.Keys(all)))
}

func unknown(what, name string, names []string) error {
	return fmt.Errorf("%s %q is unknown, there are: %s: %w", what, clip(name), strings.Join(names, ", "), core.ErrInvalid)
}

// clip shortens a name for a message.
func clip(s string) string {
	if len(s) <= 64 {
		return s
	}
	return s[:64] + "…"
}

// Detect returns the dialect whose files begin like data. Returns
// core.ErrInvalid if data is not a session file.
func Detect(data []byte) (core.Dialect, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("the file is empty: %w", core.ErrInvalid)
	}
	for _, p := range table {
		if p.Name == p.Dialect.Name() && p.Dialect.Detect(data) {
			return p.Dialect, nil
		}
	}
	first, _, _ := bytes.Cut(data[:min(len(data), 120)], []byte("\n"))
	return nil, fmt.Errorf("not a session file: no agent's session begins with %q: %w", first, core.ErrInvalid)
}

// Read reads a session file in the dialect called name. If name is empty, the
// dialect is detected.
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
