package openrath_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
)

const bare = `{"record_type": "chunk", "kind": "user", "payload": {"content": "hi"}}`

// RATH-35, RATH-36, RATH-37
func TestFillMatchesOpenRath(t *testing.T) {
	t.Parallel()
	d := openrath.Dialect{}
	for _, row := range []struct {
		line string
		f    core.Fields
		want string
		id   string
	}{
		{bare, core.Fields{ID: "u", Position: 8}, strings.TrimSuffix(bare, "}") + `, "index": 7, "id": "u"}`, "u"},
		{bare, core.Fields{ID: "7"}, strings.TrimSuffix(bare, "}") + `, "index": 7}`, "7"},
		{bare, core.Fields{ID: "u"}, strings.TrimSuffix(bare, "}") + `, "id": "u"}`, "u"},
		{user, core.Fields{ID: "1", Position: 9}, user, "1"},
		{`{"record_type": "trailer"}`, core.Fields{ID: "t", Position: 6, Time: "2026-01-02T03:04:05.678Z"}, `{"record_type": "trailer", "closed_at": "2026-01-02T03:04:05.678000+00:00", "final_chunk_count": 5, "cumulative_usage": null, "id": "t"}`, "t"},
		{trailer, core.Fields{Position: 6, Time: "2026-01-02T03:04:05.678Z"}, trailer, ""},
	} {
		e, err := d.Fill([]byte(row.line), row.f)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Equal(t, "line", row.want, string(e.Line))
		testkit.Equal(t, "id", row.id, e.ID)
		again, err := d.Fill(e.Line, row.f)
		if err != nil || string(again.Line) != row.want {
			t.Errorf("again %s, %v", again.Line, err)
		}
	}
	for _, bad := range []string{header, "{}", "[]", "", `{"record_type": "chunk", "kind": "x", "payload": {}}`} {
		if _, err := d.Fill([]byte(bad), core.Fields{ID: "x"}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// RATH-36
func TestInfoAndSummary(t *testing.T) {
	t.Parallel()
	f, d := read(t, whole()), openrath.Dialect{}
	info, err := d.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "types", map[string]int{"system": 1, "user": 1, "assistant": 2, "tool_result": 1}, info.Types)
	testkit.Equal(t, "count", []any{5, "4"}, []any{info.EntryCount, *info.LeafID})
	testkit.Equal(t, "own", parsed(t, []byte(`{"schemaVersion":1,"closed":true,"kind":"unknown","operator":"implicit","parents":[],"extras":[],
		"sandbox":{"backend":null,"spec":null,"handle":null},"cumulativeUsage":{"prompt_tokens":14,"completion_tokens":7,"total_tokens":21},
		"createdAt":"2026-01-02T03:04:05.678901+00:00","closedAt":"2026-01-02T03:04:06+00:00","finalChunkCount":5}`)), parsed(t, info.Own))
	testkit.Equal(t, "summary", display.Summary{
		First: "go é", Messages: 5, Created: "2026-01-02T03:04:05.678Z", Modified: "2026-01-02T03:04:06.000Z",
		Usage: item.Usage{Input: 14, Output: 7}, Closed: true,
	}, d.Summary(f.Header, f.Entries))
	tree := d.Tree(f.Entries)
	testkit.Equal(t, "tree", []any{5, "tool_result", 3}, []any{len(tree), tree[3].Type, tree[3].Depth})
}

func TestNewSessionLoads(t *testing.T) {
	t.Parallel()
	d := openrath.Dialect{}
	line := d.NewHeader(core.HeaderFields{ID: idA, Time: "2026-01-02T03:04:05.678Z", CWD: "/w", Parent: idB})
	l := load(t, append(line, '\n'))
	testkit.Equal(t, "fork", []any{idA, []string{idB}, openrath.LineageFork, "2026-01-02T03:04:05.678000+00:00"}, []any{l.ID, l.Parents, l.Kind, l.Created})
	testkit.Equal(t, "id", "01010101-0101-4101-8101-010101010101", d.EntryID([16]byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}))
	if !d.Linear() || !d.Keeps(nil) || d.NewLabel("a", "b") != nil || d.NewName("x") != nil {
		t.Error("OpenRath has chains, and neither labels nor names")
	}
}

func TestReadItemsCanBeWritten(t *testing.T) {
	t.Parallel()
	d := openrath.Dialect{}
	for _, e := range read(t, whole()).Entries {
		for _, it := range d.Read(e) {
			line, lost := d.Write(it)
			filled, err := d.Fill(line, core.Fields{ID: e.ID})
			if err != nil || len(lost) > 0 {
				t.Fatal(lost, err)
			}
			testkit.Equal(t, "again", d.Read(e), d.Read(filled))
		}
	}
	bad := strings.Replace(calls, `{\"a\": 1}`, `{bad`, 1)
	e, err := d.Entry([]byte(bad))
	if err != nil {
		t.Fatal(err)
	}
	line, _ := d.Write(d.Read(e)[0])
	if !strings.Contains(string(line), `"arguments": "{bad"`) {
		t.Errorf("bad arguments became %s", line)
	}
}

func TestWriteNamesLosses(t *testing.T) {
	t.Parallel()
	d := openrath.Dialect{}
	line, lost := d.Write(item.Item{
		Kind: item.Message, Role: item.RoleAssistant, Model: "m", Usage: &item.Usage{}, Stop: item.StopAborted, Error: "e",
		Blocks: []item.Block{{Kind: item.BlockThinking}, {Kind: item.BlockImage}, {Kind: item.BlockText, Text: "a", Signature: "s"}, {Kind: item.BlockText, Text: "b"}},
	})
	testkit.Equal(t, "line", `{"record_type": "chunk", "kind": "assistant", "payload": {"content": "a\nb", "tool_calls": null}}`, string(line))
	testkit.Equal(t, "lost", []string{
		"thinking", "image", "a provider's signature on a text", "which model answered", "what an answer cost",
		"that an answer was cut short", "an answer's error",
	}, lost)
	for _, kind := range []item.Kind{item.Compaction, item.Branch} {
		line, _ := d.Write(item.Item{Kind: kind, Text: "hi"})
		testkit.Equal(t, string(kind), bare, string(line))
	}
	line, lost = d.Write(item.Item{Kind: item.Note, Details: json.RawMessage("1"), Blocks: []item.Block{{Kind: item.BlockText, Text: "hi"}}})
	testkit.Equal(t, "note", []any{bare, []string{"details"}}, []any{string(line), lost})
	for _, kind := range []item.Kind{item.Model, item.Level, item.Label, item.Name, item.Custom, item.Leaf, item.Mode, item.Channel, "?"} {
		if line, _ := d.Write(item.Item{Kind: kind}); line != nil {
			t.Errorf("%s became %s", kind, line)
		}
	}
	_, lost = d.Write(item.Item{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{{Kind: item.BlockResult, Failed: true, Details: json.RawMessage("1")}}})
	testkit.Equal(t, "result", []string{"that a tool failed", "details of a tool's result"}, lost)
}
