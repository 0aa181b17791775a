package dialect_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/item"
)

// Operator and OpenRath end a line at the characters in odd, and lose it.
func TestMadeLinesHaveNoLineSeparators(t *testing.T) {
	t.Parallel()
	const odd = "a\u0085b\u2028c\u2029d"
	raw, _ := json.Marshal(map[string]string{"k": "\u0085"})
	raw = append(raw[:len(raw)-1], `,"l":"`+odd+`"}`...)
	text := item.Block{Kind: item.BlockText, Text: odd}
	call := item.Block{Kind: item.BlockCall, ID: odd, Name: odd, Args: raw, Details: raw}
	result := item.Block{Kind: item.BlockResult, ID: odd, Name: odd, Blocks: []item.Block{text}, Details: raw}
	items := []item.Item{
		{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{text}},
		{Kind: item.Message, Role: item.RoleSystem, Blocks: []item.Block{text}},
		{Kind: item.Message, Role: item.RoleAssistant, Blocks: []item.Block{text, call}, Error: odd},
		{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{result}},
		{Kind: item.Compaction, Text: odd, Target: odd, Details: raw},
		{Kind: item.Branch, Text: odd, Target: odd, Details: raw},
		{Kind: item.Note, Type: odd, Blocks: []item.Block{text}, Details: raw},
		{Kind: item.Custom, Type: odd, Details: raw},
		{Kind: item.Channel, Text: odd},
		{Kind: item.Model, Model: odd, Provider: odd},
		{Kind: item.Label, Text: odd, Target: odd},
		{Kind: item.Name, Text: odd},
		{Kind: item.Leaf, Target: odd},
	}
	const when = "2026-01-02T03:04:05.000Z"
	for _, name := range []string{"operator", "openrath"} {
		d := dialect.All()[name]
		lines := [][]byte{
			d.NewHeader(core.HeaderFields{ID: odd, Time: when, CWD: odd, Parent: odd}),
			d.NewLabel(odd, odd), d.NewName(odd),
		}
		for _, it := range items {
			line, _ := d.Write(it)
			if line == nil {
				continue
			}
			lines = append(lines, line)
			e, err := d.Fill(line, core.Fields{ID: odd, Parent: core.LeafAt(odd), Time: when, Position: 1})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, e.Line)
		}
		checkSeparators(t, name, lines)
	}

	message := `{"type":"message","id":"m","message":{"role":"user"},"meta":{"channel_message_id":"1"}}`
	e, err := operator.Dialect{}.Entry([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := operator.WithMeta(e, []byte(`{"reply_to":"`+odd+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	reacted, err := operator.WithReaction([]core.Entry{e}, "1", odd)
	if err != nil {
		t.Fatal(err)
	}
	s := openrath.FromUserMessage(odd, odd)
	s.Extras = []openrath.Extra{{Key: odd, Value: json.RawMessage(raw)}}
	s.Sandbox = openrath.Sandbox{Backend: odd, Spec: raw, Handle: odd}
	c, err := openrath.NewChunk(openrath.KindUser, raw)
	if err != nil {
		t.Fatal(err)
	}
	checkSeparators(t, "others", [][]byte{meta.Line, reacted.Line, s.Header(), c.Line(0)})
}

func checkSeparators(t *testing.T, name string, lines [][]byte) {
	t.Helper()
	for _, line := range lines {
		if bytes.ContainsAny(line, "\u0085\u2028\u2029") {
			t.Errorf("%s: %q has a line separator", name, line)
		}
		if line != nil && !json.Valid(line) {
			t.Errorf("%s: %q is not JSON", name, line)
		}
	}
}
