package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/engine"
)

const swordfish = "swordfish"

// said returns entries that any agent may have. Nova, which stores pointers without
// content, has some of them and entries of its own.
func said() []item.Item {
	text := item.Block{Kind: item.BlockText, Text: "the " + swordfish, Signature: swordfish}
	return []item.Item{
		{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{text}},
		{Kind: item.Model, Provider: "p", Model: "m"},
		{Kind: item.Message, Role: item.RoleAssistant, Provider: "p", Model: "m", API: "a", Stop: item.StopTools, Usage: &item.Usage{Input: 3}, Blocks: []item.Block{
			{Kind: item.BlockThinking, Text: swordfish, Signature: swordfish},
			text,
			{Kind: item.BlockCall, ID: "c1", Name: "bash", Args: json.RawMessage(`{"` + swordfish + `":"` + swordfish + `"}`)},
		}},
		{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{
			{Kind: item.BlockResult, ID: "c1", Name: "bash", Blocks: []item.Block{text}, Details: json.RawMessage(`{"x":"` + swordfish + `"}`)},
		}},
		{Kind: item.Compaction, Text: swordfish, Target: "e1", Tokens: 9},
		{Kind: item.Name, Text: swordfish},
		{Kind: item.Label, Target: "e1", Text: swordfish},
		{Kind: item.Note, Type: "x", Blocks: []item.Block{text}, Details: json.RawMessage(`{"x":"` + swordfish + `"}`)},
		{Kind: item.Custom, Type: "x", Details: json.RawMessage(`{"` + swordfish + `":["` + swordfish + `"]}`)},
	}
}

// ownLines are lines that belong to no item.
var ownLines = map[string][]string{
	"nova": {
		`{"type":"decision","decision":{"decision":"swordfish","rationale":"swordfish","timestamp":"2026-01-02T03:04:05.678000+00:00"}}`,
		`{"type":"artifact","name":"swordfish","path":"swordfish"}`,
		`{"type":"update","current_plan":"swordfish","tags":["swordfish"]}`,
	},
}

func linesOf(t *testing.T, d core.Dialect) (es []core.Entry) {
	t.Helper()
	add := func(line []byte) {
		id := fmt.Sprintf("e%d", len(es)+1)
		if d.Name() == "openrath" {
			id = "" // an entry is identified by its position
		}
		f := core.Fields{ID: id, Time: "2026-01-02T03:04:05.678Z", Position: len(es) + 1, Parent: core.NoLeaf}
		if len(es) > 0 {
			f.Parent = core.LeafAt(es[len(es)-1].ID)
		}
		e, err := d.Fill(line, f)
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	for _, it := range said() {
		if line, _ := d.Write(it); line != nil {
			add(line)
		}
	}
	for _, line := range ownLines[d.Name()] {
		add([]byte(line))
	}
	return es
}

func TestRedactEntriesOfEveryAgent(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(dialect.All())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dialect.All()[name]
			_, ss, _ := inMemory()
			h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "session-1", Time: "2026-01-02T03:04:05.678Z", CWD: "/w"}))
			if err != nil {
				t.Fatal(err)
			}
			es := linesOf(t, d)
			if len(es) < 3 || !strings.Contains(string(core.Lines(es)), swordfish) {
				t.Fatalf("there is nothing to redact in %s", core.Lines(es))
			}
			s, err := ss.Create(t.Context(), engine.CreateRequest{ID: "session-1", Origin: core.Origin{Dialect: name}, Header: h, Entries: es})
			if err != nil {
				t.Fatal(err)
			}
			before := state(t, s)
			tree, leaf := d.Tree(before.Entries), before.Leaf(core.MainHead)
			var ids []string
			for _, e := range es {
				ids = append(ids, e.ID)
			}
			if err := s.Redact(t.Context(), engine.Redaction{IDs: ids, Text: "gone", Notice: core.Notice{By: "ada"}}); err != nil {
				t.Fatal(err)
			}
			st := state(t, open(t, ss, "session-1"))
			if text := string(st.Render()); strings.Contains(text, swordfish) {
				t.Errorf("the content is still in\n%s", text)
			}
			for i := range tree { // a label and its time are content
				tree[i].Label, tree[i].LabelTimestamp = nil, nil
			}
			now := d.Tree(st.Entries)
			for i := range now {
				now[i].Label, now[i].LabelTimestamp = nil, nil
			}
			if diff := cmp.Diff(tree, now); diff != "" || st.Leaf(core.MainHead) != leaf {
				t.Errorf("the tree changed (-before +now)\n%s", diff)
			}
			if _, err := d.Context(st.Entries, leaf); err != nil {
				t.Errorf("the agent cannot continue: %v", err)
			}
			was, err := d.File(core.Lines(d.Layout(h, es)))
			if err != nil {
				t.Fatal(err)
			}
			is, err := d.File(core.Lines(d.Layout(st.Header, st.Entries)))
			if err != nil || len(is.Skipped) > 0 || len(is.Entries) != len(was.Entries) {
				t.Errorf("the agent reads %d of %d entries, skips %v: %v", len(is.Entries), len(was.Entries), is.Skipped, err)
			}
		})
	}
}

func TestRedactRejectsHeldAndMissingEntries(t *testing.T) {
	t.Parallel()
	_, ss, _ := inMemory()
	s := create(t, ss, "session-1", entry("a", ""))
	q := engine.Redaction{IDs: []string{"a"}, Text: "gone", Notice: core.Notice{By: "bo"}}
	if err := s.Hold(t.Context(), core.Notice{By: "ada", Why: "a lawsuit"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Redact(t.Context(), q); !errors.Is(err, core.ErrHeld) {
		t.Errorf("held: %v", err)
	}
	if err := s.Unhold(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Redact(t.Context(), engine.Redaction{IDs: []string{"a", "b"}}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a missing entry: %v", err)
	}
	if st := state(t, s); st.Redacted["a"] {
		t.Error("a failed request was partly applied")
	}
	if err := s.Delete(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Redact(t.Context(), q); !errors.Is(err, core.ErrDeleted) {
		t.Errorf("in the trash: %v", err)
	}
}
