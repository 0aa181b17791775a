package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

func TestAdmit(t *testing.T) {
	plain := func(t *testing.T) *core.State { return opened(t, said("a", ""), said("b", "a")) }
	held := func(t *testing.T) *core.State {
		s := plain(t)
		apply(t, s, core.KindClaim, "main", "w1", `{}`)
		return s
	}
	with := func(kind core.Kind, body string) func(*testing.T) *core.State {
		return func(t *testing.T) *core.State {
			s := held(t)
			apply(t, s, kind, "main", "w1", body)
			return s
		}
	}
	at := func(seq uint64) *core.Cursor { return &core.Cursor{Seq: seq} }
	for what, c := range map[string]struct {
		state func(*testing.T) *core.State
		p     core.Proposal
		lines []string
		want  error
		fresh int
	}{
		"a child":                         {plain, core.Proposal{}, []string{said("c", "b")}, nil, 1},
		"a root":                          {plain, core.Proposal{}, []string{said("c", "")}, nil, 1},
		"a chain in one body":             {plain, core.Proposal{}, []string{said("c", "b"), said("d", "c")}, nil, 2},
		"a parent that comes later":       {plain, core.Proposal{}, []string{said("d", "c"), said("c", "b")}, core.ErrInvalid, 0},
		"a parent that is nowhere":        {plain, core.Proposal{}, []string{said("c", "x")}, core.ErrInvalid, 0},
		"its own parent":                  {plain, core.Proposal{}, []string{said("c", "c")}, core.ErrInvalid, 0},
		"a repeated line":                 {plain, core.Proposal{}, []string{said("b", "a")}, nil, 0},
		"the same and another":            {plain, core.Proposal{}, []string{said("b", "a"), said("c", "b")}, nil, 1},
		"twice in one body":               {plain, core.Proposal{}, []string{said("c", "b"), said("c", "b")}, nil, 1},
		"other bytes":                     {plain, core.Proposal{}, []string{said("b", "")}, core.ErrConflict, 0},
		"other bytes in one body":         {plain, core.Proposal{}, []string{said("c", "b"), said("c", "a")}, core.ErrConflict, 0},
		"no id":                           {plain, core.Proposal{}, []string{`{"parentId":"b"}`}, core.ErrInvalid, 0},
		"a long id":                       {plain, core.Proposal{}, []string{said(strings.Repeat("x", core.MaxEntryID+1), "b")}, core.ErrInvalid, 0},
		"a bad head":                      {plain, core.Proposal{Head: "a/b"}, []string{said("c", "b")}, core.ErrInvalid, 0},
		"a pending parent":                {plain, core.Proposal{Pending: entries(t, plain(t), said("p", "b"))}, []string{said("c", "p")}, nil, 1},
		"pending already":                 {plain, core.Proposal{Pending: entries(t, plain(t), said("p", "b"))}, []string{said("p", "b")}, nil, 0},
		"pending with other bytes":        {plain, core.Proposal{Pending: entries(t, plain(t), said("p", "b"))}, []string{said("p", "a")}, core.ErrConflict, 0},
		"loose: no id":                    {plain, core.Proposal{Loose: true}, []string{`{}`, `{}`}, nil, 2},
		"loose: an orphan":                {plain, core.Proposal{Loose: true}, []string{said("c", "x")}, nil, 1},
		"loose: an id used twice":         {plain, core.Proposal{Loose: true}, []string{said("c", ""), said("c", "b")}, nil, 2},
		"loose: other bytes":              {plain, core.Proposal{Loose: true}, []string{said("b", "")}, core.ErrConflict, 0},
		"after the last":                  {plain, core.Proposal{After: ptr(plain(t).Cursor())}, []string{said("c", "b")}, nil, 1},
		"after another history":           {plain, core.Proposal{After: at(1)}, []string{said("c", "b")}, core.ErrConflict, 0},
		"after what is not there yet":     {plain, core.Proposal{After: at(9)}, []string{said("c", "b")}, core.ErrConflict, 0},
		"after, the head moved":           {with(core.KindAppend, said("c", "b")), core.Proposal{Writer: "w1", After: at(2)}, []string{said("d", "c")}, core.ErrConflict, 0},
		"after, a claim came":             {held, core.Proposal{Writer: "w1", After: at(1)}, []string{said("c", "b")}, nil, 1},
		"after, a head that was not made": {held, core.Proposal{Head: "side", After: at(1)}, []string{said("c", "b")}, nil, 1},
		"after, stored already":           {held, core.Proposal{After: at(0)}, []string{said("b", "a")}, nil, 0},
		"the holder":                      {held, core.Proposal{Writer: "w1", Claimed: true}, []string{said("c", "b")}, nil, 1},
		"another writer":                  {held, core.Proposal{Writer: "w2", Claimed: true}, []string{said("c", "b")}, core.ErrFenced, 0},
		"an empty writer":                 {held, core.Proposal{}, []string{said("c", "b")}, core.ErrFenced, 0},
		"another head":                    {held, core.Proposal{Head: "side"}, []string{said("c", "b")}, nil, 1},
		"a claim on another head":         {held, core.Proposal{Head: "side", Writer: "w1", Claimed: true}, []string{said("c", "b")}, core.ErrFenced, 0},
		"a claim that is over":            {with(core.KindRelease, `{}`), core.Proposal{Writer: "w1", Claimed: true}, []string{said("c", "b")}, core.ErrFenced, 0},
		"fenced, but stored already":      {held, core.Proposal{Writer: "w2", Claimed: true}, []string{said("b", "a")}, nil, 0},
		"fenced, and half of it stored":   {held, core.Proposal{Writer: "w2", Claimed: true}, []string{said("b", "a"), said("c", "b")}, core.ErrFenced, 0},
		"deleted":                         {with(core.KindDelete, `{}`), core.Proposal{Writer: "w1", Claimed: true}, []string{said("c", "b")}, core.ErrDeleted, 0},
		"erased":                          {with(core.KindErase, `{}`), core.Proposal{Writer: "w1", Claimed: true}, []string{said("b", "a")}, core.ErrDeleted, 0},
		"a newer version wrote":           {with("made-up", "x"), core.Proposal{Writer: "w1", Claimed: true}, []string{said("c", "b")}, core.ErrTooNew, 0},
		"closed":                          {with(core.KindClose, `{}`), core.Proposal{Writer: "w1", Claimed: true}, []string{said("c", "b")}, nil, 1},
	} {
		s := c.state(t)
		if c.p.Head == "" {
			c.p.Head = core.MainHead
		}
		c.p.Entries = entries(t, opened(t), c.lines...)
		before := asManifest(t, s)
		fresh, err := s.Admit(c.p)
		if !errors.Is(err, c.want) || c.want == nil && err != nil || len(fresh) != c.fresh {
			t.Errorf("%s: %d lines are admitted, %v; want %d, %v", what, len(fresh), err, c.fresh, c.want)
		}
		if asManifest(t, s) != before {
			t.Errorf("%s: the state was changed", what)
		}
	}
	s := plain(t)
	s.Redacted["gone"] = true
	_, err := s.Admit(core.Proposal{Head: core.MainHead, Loose: true, Entries: entries(t, s, said("gone", ""))})
	wantErr(t, "redacted", err, core.ErrConflict)
	_, err = s.Admit(core.Proposal{Head: core.MainHead, Loose: true, Entries: []core.Entry{{ID: "x", Line: []byte("{\n}")}}})
	wantErr(t, "two lines", err, core.ErrInvalid)
	_, err = core.NewState(logName, session, nil).Admit(core.Proposal{Head: core.MainHead, Entries: entries(t, s, said("x", ""))})
	wantErr(t, "no session", err, core.ErrNotFound)
}

func ptr[T any](v T) *T { return &v }

func TestLeafEntryToMissingTarget(t *testing.T) {
	t.Parallel()
	s := core.NewState(logName, session, dialect.All())
	apply(t, s, core.KindOpen, core.MainHead, "w", `{"dialect":"operator"}
{"type":"session","version":1,"id":"session1","timestamp":1767323045678,"cwd":"/w"}
{"type":"message","id":"a","parent_id":null,"timestamp":1767323045678,"message":{"role":"user","content":"hi"}}`)
	leaf := `{"type":"leaf","id":"l","parent_id":"a","timestamp":1767323045678,"target_id":"gone"}`
	e, err := s.Dialect.Entry([]byte(leaf))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Admit(core.Proposal{Head: core.MainHead, Entries: []core.Entry{e}}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("admitted with %v", err)
	}
	apply(t, s, core.KindAppend, core.MainHead, "w", leaf) // as in a file that is imported
	if s.Leaf(core.MainHead) != core.NoLeaf {
		t.Errorf("main stands at %+v", s.Leaf(core.MainHead))
	}
}

// said is line with a message.
func said(id, parent string) string {
	return strings.TrimSuffix(line(id, parent), "}") + `,"message":{"role":"user"}}`
}
