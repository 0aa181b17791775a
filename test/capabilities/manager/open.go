package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

// A function makes a call and returns what to print.
type function func(*manager, call) (string, error)

var calls = map[string]function{}

func init() {
	for verb, f := range map[string]function{
		"create": opens(func(m *manager, c call, o session.Options) (*session.Session, error) {
			return session.Create(m.ctx, m.log, c.options["cwd"], o)
		}),
		"open": opens(func(m *manager, c call, o session.Options) (*session.Session, error) {
			o.CWD = c.options["cwd"]
			return session.Open(m.ctx, m.log, core.SessionID(c.arg(0)), o)
		}),
		"ensure": opens(func(m *manager, c call, o session.Options) (*session.Session, error) {
			return session.Ensure(m.ctx, m.log, core.SessionID(c.arg(0)), c.options["cwd"], o)
		}),
		"continue": opens(func(m *manager, c call, o session.Options) (*session.Session, error) {
			return session.Continue(m.ctx, m.log, c.options["cwd"], o)
		}),
		"memory": opens(func(_ *manager, c call, o session.Options) (*session.Session, error) {
			return session.InMemory(c.options["cwd"], o)
		}),
		"fork": opens(func(m *manager, c call, o session.Options) (*session.Session, error) {
			return session.ForkFrom(m.ctx, m.log, core.SessionID(c.arg(0)), c.options["cwd"], o)
		}),
		"branched": opens(func(m *manager, c call, o session.Options) (*session.Session, error) {
			return m.s.Branched(m.ctx, leafOf(c.arg(0)), o)
		}),
		"use":    use,
		"recent": recent,
		"list":   list,
		"stored": stored,
		"track": func(m *manager, _ call) (string, error) {
			m.journal = &lineage.Journal{}
			m.ctx = lineage.Track(m.ctx, m.journal)
			return "ok", nil
		},
		"lineage": func(m *manager, c call) (string, error) {
			m.ctx = lineage.Recording(m.ctx, c.arg(0) != "off")
			return "ok", nil
		},
		"journal": journal,
	} {
		calls[verb] = f
	}
}

// opens is a call that opens a session, which later calls use, and returns its id.
func opens(open func(*manager, call, session.Options) (*session.Session, error)) function {
	return func(m *manager, c call) (string, error) {
		o, err := c.session()
		if err != nil {
			return "", err
		}
		s, err := open(m, c, o)
		if err != nil {
			return "", err
		}
		m.s, m.sessions[cmp.Or(c.options["as"], string(s.ID()))] = s, s
		return string(s.ID()), nil
	}
}

// session returns the options of a call that opens a session.
func (c call) session() (session.Options, error) {
	o := session.Options{
		ID: c.options["id"], Dialect: c.options["dialect"], Parent: c.options["parent"],
		Head: c.options["head"], Host: c.options["host"], Lazy: c.options["lazy"] != "", Agent: "manager",
	}
	access := map[string]session.Access{
		"": session.Claimed, "take-over": session.TakeOver, "shared": session.Shared, "read-only": session.ReadOnly,
	}
	a, ok := access[c.options["access"]]
	if !ok {
		return o, fmt.Errorf("there is no access %s", c.options["access"])
	}
	o.Access = a
	if stop := c.options["stop"]; stop != "" {
		o.Steps = stopping(stop)
	}
	return o, nil
}

// stopping returns steps that stop compactions or forks.
func stopping(step string) session.Steps {
	refuse := func(of string) error {
		if step == of {
			return fmt.Errorf("the program stops each %s", of)
		}
		return nil
	}
	return session.Steps{
		BeforeCompact: func(item.Item) error { return refuse("compaction") },
		BeforeFork:    func(core.Leaf) error { return refuse("fork") },
	}
}

// leafOf reads a position: an id, null for before all entries, or nothing for
// where the session stands.
func leafOf(id string) core.Leaf {
	switch id {
	case "":
		return core.Leaf{}
	case "null":
		return core.NoLeaf
	}
	return core.LeafAt(id)
}

func use(m *manager, c call) (string, error) {
	s, ok := m.sessions[c.arg(0)]
	if !ok {
		return "", fmt.Errorf("session %s is not open", c.arg(0))
	}
	m.s = s
	return string(s.ID()), nil
}

// recent lists the sessions of a directory: id, directory, messages, name.
func recent(m *manager, c call) (string, error) {
	found, err := m.log.Recent(m.ctx, session.Query{CWD: c.options["cwd"], Dialect: c.options["dialect"], Text: c.options["text"], Limit: 20})
	out := ""
	for _, f := range found {
		out += fmt.Sprintln(f.ID, f.CWD, f.Messages, orNone(f.Name))
	}
	return out, err
}

// stored says whether the log has the session, and how many records of it.
func stored(m *manager, c call) (string, error) {
	id := core.SessionID(c.arg(0))
	if id == "" {
		id = m.s.ID()
	}
	records := 0
	err := m.log.Follow(m.ctx, id, core.Cursor{}, false, func(session.Event) error {
		records++
		return nil
	})
	if errors.Is(err, core.ErrNotFound) {
		return "not in the log", nil
	}
	return fmt.Sprintf("%d records", records), err
}

// journal prints the rows of the sessions that the program made since it called
// track, in the export format of OpenRath.
func journal(m *manager, _ call) (string, error) {
	rows, err := m.journal.Export(func(id core.SessionID) (lineage.Node, bool) {
		found, err := m.node.Lineage(m.ctx, client.LineageOptions{Session: string(id)})
		at := slices.IndexFunc(found.Sessions, func(n lineage.Node) bool { return n.ID == id })
		if err != nil || at < 0 {
			return lineage.Node{}, false
		}
		return found.Sessions[at], true
	}, true)
	return string(rows), err
}

// list lists the sessions of a directory in pages of one, and prints how many were
// listed after each.
func list(m *manager, c call) (string, error) {
	var listed []string
	err := m.node.ListAll(m.ctx, catalog.Filter{CWD: c.options["cwd"], Limit: 1}, func(_ []catalog.Row, n int) error {
		listed = append(listed, strconv.Itoa(n))
		return nil
	})
	return strings.Join(listed, " "), err
}
