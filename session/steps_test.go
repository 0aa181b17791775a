package session_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/session"
)

// A program sees and stops steps of its session.
func ExampleSteps() {
	ctx := context.Background()
	steps := session.Steps{
		BeforeCompact: func(it item.Item) error {
			if it.Tokens < 1000 {
				return errors.New("too early")
			}
			return nil
		},
		Moved: func(from, to core.Leaf) { fmt.Println("moved", from != to) },
	}
	s := must(session.Create(ctx, newLog(), "/home/dev/site", session.Options{Dialect: "pi", Steps: steps}))
	ids := must(s.Append(ctx, message(item.RoleUser, "one"), message(item.RoleUser, "two")))
	_, err := s.Compact(ctx, "so far", ids[1], 10, nil)
	fmt.Println(err)
	if err := s.Branch(ctx, ids[0]); err != nil {
		fmt.Println(err)
	}
	// Output:
	// too early
	// moved true
}

// A failed attempt is taken back, also if it was stored.
func ExampleSession_Rewind() {
	ctx := context.Background()
	s := must(session.Create(ctx, newLog(), "/home/dev/site", session.Options{Dialect: "pi"}))
	must(s.Append(ctx, message(item.RoleUser, "Which port?")))
	before := s.Leaf()
	must(s.Append(ctx, message(item.RoleAssistant, "I cannot")))
	if err := s.Rewind(ctx, before); err != nil {
		fmt.Println(err)
	}
	must(s.Append(ctx, message(item.RoleAssistant, "8080.")))
	path := must(s.Path(core.Leaf{}))
	fmt.Println(len(path), len(s.Entries()))
	// Output: 2 3
}

// The arguments of a call are corrected in the stored entry.
func ExampleSession_Rewrite() {
	ctx, log := context.Background(), newLog()
	s := must(session.Create(ctx, log, "/home/dev/site", session.Options{Dialect: "omp"}))
	must(s.AppendLine(ctx, []byte(`{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{"path":"/tmo"}}]}}`)))
	err := s.Rewrite(ctx, []byte(`{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{"path":"/tmp"}}]}}`))
	read := must(session.Open(ctx, log, s.ID(), session.Options{Access: session.ReadOnly}))
	fmt.Println(err, string(read.Entries()[0].Line) == string(s.Entries()[0].Line), len(read.Entries()))
	// Output: <nil> true 1
}

// An extension finds its own entries when a session is opened again.
func ExampleSession_Custom() {
	ctx := context.Background()
	s := must(session.Create(ctx, newLog(), "/home/dev/site", session.Options{Dialect: "pi"}))
	must(s.Append(ctx, item.Item{Kind: item.Custom, Type: "todo", Details: []byte(`{"n":1}`)}, message(item.RoleUser, "go on"),
		item.Item{Kind: item.Note, Type: "todo", Blocks: []item.Block{{Kind: item.BlockText, Text: "1 left"}}}))
	for _, e := range s.Custom("todo") {
		fmt.Println(e.Type)
	}
	// Output:
	// custom
	// custom_message
}

// OP-42: what only the session has is removed; nothing of a lazy session is stored.
func TestRewindDropsUnsentEntries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := must(session.Create(ctx, newLog(), "/w", session.Options{Dialect: "operator", Lazy: true}))
	ids := must(s.Append(ctx, message(item.RoleUser, "one"), message(item.RoleUser, "two")))
	if err := s.Rewind(ctx, core.LeafAt(ids[0])); err != nil || len(s.Entries()) != 1 || len(s.Unsent()) != 1 || s.Leaf() != core.LeafAt(ids[0]) {
		t.Errorf("after the first: %v, %d entries, leaf %v", err, len(s.Entries()), s.Leaf())
	}
	if err := s.Rewind(ctx, core.NoLeaf); err != nil || len(s.Entries()) != 0 || s.Saved() {
		t.Errorf("before all: %v, %d entries, saved %v", err, len(s.Entries()), s.Saved())
	}
	if err := s.Rewind(ctx, core.LeafAt("nowhere")); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("to nowhere: %v", err)
	}
}

// OP-43: the steps before are stopped, those after are seen.
func TestStepsAreStoppedAndSeen(t *testing.T) {
	t.Parallel()
	ctx, stop := t.Context(), errors.New("stopped")
	var stopping error
	var seen []string
	log, steps := newLog(), session.Steps{
		BeforeCompact: func(item.Item) error { return stopping },
		Compacted:     func(e core.Entry) { seen = append(seen, e.Type) },
		BeforeFork:    func(core.Leaf) error { return stopping },
		Moved:         func(core.Leaf, core.Leaf) { seen = append(seen, "moved") },
	}
	s := must(session.Create(ctx, log, "/w", session.Options{Dialect: "operator", Steps: steps}))
	ids := must(s.Append(ctx, message(item.RoleUser, "one"), message(item.RoleUser, "two")))
	stopping = stop
	_, compact := s.Compact(ctx, "x", ids[1], 1, nil)
	_, fork := s.Fork(ctx, "", session.Options{})
	_, branched := s.Branched(ctx, core.Leaf{}, session.Options{})
	_, from := session.ForkFrom(ctx, log, s.ID(), "", session.Options{Steps: steps})
	for name, err := range map[string]error{"compact": compact, "fork": fork, "branched": branched, "fork from": from} {
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.Entries()) != 2 || len(seen) != 0 {
		t.Errorf("stopped steps left %d entries and told %v", len(s.Entries()), seen)
	}
	stopping = nil
	must(s.Compact(ctx, "x", ids[1], 1, nil))
	if err := s.Branch(ctx, ids[0]); err != nil || fmt.Sprint(seen) != "[compaction moved]" {
		t.Errorf("%v, told %v", err, seen)
	}
	must(s.Fork(ctx, "", session.Options{}))
}
