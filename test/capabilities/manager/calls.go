package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

func init() {
	for verb, f := range map[string]function{
		// append
		"user": item1(func(c call) item.Item { return say(item.RoleUser, c.arg(0)) }),
		"assistant": item1(func(c call) item.Item {
			it := say(item.RoleAssistant, c.arg(0))
			it.Provider, it.Model, it.Stop = "p", "m", item.StopEnd
			it.Usage = &item.Usage{Input: 1, Output: 2}
			return it
		}),
		"level": item1(func(c call) item.Item { return item.Item{Kind: item.Level, Text: c.arg(0)} }),
		"model": item1(func(c call) item.Item {
			return item.Item{Kind: item.Model, Provider: c.arg(0), Model: c.arg(1), For: c.arg(2)}
		}),
		"custom": item1(func(c call) item.Item { return item.Item{Kind: item.Custom, Type: c.arg(0), Details: raw(c.arg(1))} }),
		"note": item1(func(c call) item.Item {
			return item.Item{Kind: item.Note, Type: c.arg(0), Blocks: text(c.arg(1)), Hidden: c.options["hidden"] != "", Details: raw(c.arg(2))}
		}),
		"mode":    item1(func(c call) item.Item { return item.Item{Kind: item.Mode, Text: c.arg(0), Details: raw(c.arg(1))} }),
		"channel": item1(func(c call) item.Item { return item.Item{Kind: item.Channel, Text: c.arg(0)} }),
		"turn": func(m *manager, c call) (string, error) {
			ids, err := m.s.Append(m.ctx, say(item.RoleUser, c.arg(0)), say(item.RoleAssistant, c.arg(1)))
			return strings.Join(ids, " "), err
		},
		"line": func(m *manager, c call) (string, error) {
			ids, err := m.s.AppendLine(m.ctx, []byte(c.arg(0)))
			return strings.Join(ids, " "), err
		},
		"rewrite": did(func(m *manager, c call) error {
			var lines [][]byte
			for _, line := range c.args {
				lines = append(lines, []byte(line))
			}
			return m.s.Rewrite(m.ctx, lines...)
		}),
		"crowd": crowd,
		"compact": func(m *manager, c call) (string, error) {
			return m.s.Compact(m.ctx, c.arg(0), c.arg(1), number(c.arg(2)), raw(c.arg(3)))
		},
		"set-name":  func(m *manager, c call) (string, error) { return m.s.SetName(m.ctx, c.arg(0)) },
		"set-label": func(m *manager, c call) (string, error) { return m.s.SetLabel(m.ctx, c.arg(0), c.arg(1)) },
		"set-meta":  did(func(m *manager, c call) error { return m.s.SetMeta(m.ctx, c.arg(0), raw(c.arg(1))) }),
		"react":     did(func(m *manager, c call) error { return m.s.React(m.ctx, c.arg(0), c.arg(1)) }),

		// move
		"branch": did(func(m *manager, c call) error { return m.s.Branch(m.ctx, c.arg(0)) }),
		"rewind": did(func(m *manager, c call) error { return m.s.Rewind(m.ctx, leafOf(c.arg(0))) }),
		"reset":  did(func(m *manager, _ call) error { return m.s.ResetLeaf(m.ctx) }),
		"branch-with-summary": func(m *manager, c call) (string, error) {
			return m.s.BranchWithSummary(m.ctx, leafOf(c.arg(0)), c.arg(1), raw(c.arg(2)))
		},

		// write
		"flush":      did(func(m *manager, _ call) error { return m.s.Flush(m.ctx) }),
		"refresh":    did(func(m *manager, _ call) error { return m.s.Refresh(m.ctx) }),
		"close":      did(func(m *manager, _ call) error { return m.s.Close(m.ctx) }),
		"branch-off": did(func(m *manager, c call) error { return m.s.BranchOff(m.ctx, c.arg(0)) }),
		"unsent":     func(m *manager, _ call) (string, error) { return ids(m.s.Unsent()), nil },
		"err":        did(func(m *manager, _ call) error { return m.s.Err() }),
	} {
		calls[verb] = f
	}
}

// item1 is a call that appends one item.
func item1(make func(call) item.Item) function {
	return func(m *manager, c call) (string, error) {
		ids, err := m.s.Append(m.ctx, make(c))
		return strings.Join(ids, " "), err
	}
}

// did is a call that returns nothing.
func did(f func(*manager, call) error) function {
	return func(m *manager, c call) (string, error) { return "ok", f(m, c) }
}

// crowd appends a message in each of several goroutines at the same time.
func crowd(m *manager, c call) (string, error) {
	n := int(number(c.arg(0)))
	failed := make(chan error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if _, err := m.s.Append(m.ctx, say(item.RoleUser, fmt.Sprint("crowd ", i))); err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	return fmt.Sprintf("%d failed", len(failed)), nil
}

func say(role item.Role, s string) item.Item {
	return item.Item{Kind: item.Message, Role: role, Blocks: text(s)}
}

func text(s string) []item.Block { return []item.Block{{Kind: item.BlockText, Text: s}} }

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func ids(es []core.Entry) string {
	all := make([]string, len(es))
	for i, e := range es {
		all[i] = e.ID
	}
	return strings.Join(all, " ")
}
