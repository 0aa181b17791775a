package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
)

// A View is a session as one agent has it.
type View struct {
	core.Dialect
	Header  core.Header
	Entries []core.Entry
	Leaf    core.Leaf
}

// As returns v as the agent of the profile called name has it: that agent reads
// v's own lines where it can, as pi and omp read each other's, and else those
// of the session that v is converted to for it. The empty name is v's own
// agent at its newest version. core.ErrInvalid names the profiles there are.
func (v View) As(name string) (View, error) {
	if name == "" {
		return v, nil
	}
	at := slices.IndexFunc(table, func(r rules) bool { return r.name == name })
	if at < 0 {
		return View{}, fmt.Errorf("profile %q is unknown, there are: %s: %w", name, strings.Join(Names(true), ", "), core.ErrInvalid)
	}
	to := table[at]
	if to.family == familyOf(v.Dialect) {
		v.Dialect = to.Dialect
		return v, nil
	}
	res, err := convert.Convert(convert.Request{
		From: v.Dialect, To: to.Dialect, Header: v.Header, Entries: v.Entries, Leaf: v.Leaf,
		ID:   convert.SessionID(string(core.SessionIDFor(v.Name(), v.Header.ID)), to.Name()),
		Time: v.Summary(v.Header, v.Entries).Created,
	})
	if err != nil {
		return View{}, err
	}
	return View{to.Dialect, res.Header, res.Entries, res.Leaf}, nil
}

func familyOf(d core.Dialect) string {
	for _, row := range table {
		if row.name == d.Name() {
			return row.family
		}
	}
	return ""
}
