package codex_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/codex"
)

func TestContext(t *testing.T) {
	t.Parallel()
	call := func(id string) string {
		return `{"type":"function_call","id":"fc_` + id + `","name":"run","arguments":"{}","call_id":"` + id + `"}`
	}
	output := func(id string) string {
		return `{"type":"function_call_output","call_id":"` + id + `","output":"done"}`
	}
	summary := `{"message":"S","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"S"}]}]}`
	for name, c := range map[string]struct {
		s    *script
		want string
	}{
		"items in order":             {rollout(parent, "").says("user", "a").says("assistant", "b"), "a b"},
		"other lines are ignored":    {rollout(parent, "").line("world_state", `{}`).line("new_kind", `[]`).line("event_msg", `{"type":"x"}`).says("user", "a"), "a"},
		"unknown items are ignored":  {rollout(parent, "").item(`{"type":"ghost_snapshot"}`).item(`{"type":"novel"}`).says("user", "a"), "a"},
		"system messages are not":    {rollout(parent, "").says("system", "a").says("user", "b"), "b"},
		"garbage is skipped":         {rollout(parent, "").raw("\nnot json\n[1]\n\x00\xff\r\n").says("user", "a"), "a"},
		"compaction":                 {rollout(parent, "").says("user", "a").line("compacted", summary).says("user", "b"), "S b"},
		"the last compaction counts": {rollout(parent, "").line("compacted", summary).says("user", "a").line("compacted", summary).says("user", "b"), "S b"},
		"a compaction ends the file": {rollout(parent, "").says("user", "a").line("compacted", summary), "S"},
		"compaction without items":   {rollout(parent, "").says("user", "a").says("assistant", "b").line("compacted", `{"message":"S"}`).says("user", "c"), "a S c"},
		"call without output":        {rollout(parent, "").item(call("1")).item(call("2")).item(output("2")), "function_call:1 1=aborted function_call:2 2=done"},
		"output without call":        {rollout(parent, "").item(output("1")).says("user", "a"), "a"},
		"turn rolled back":           {rollout(parent, "").says("user", "a").says("assistant", "b").says("user", "c").line("event_msg", `{"type":"thread_rolled_back","num_turns":1}`).says("user", "d"), "a b d"},
		"more turns than there are":  {rollout(parent, "").says("developer", "h").says("user", "a").line("event_msg", `{"type":"thread_rolled_back","num_turns":9}`).says("user", "d"), "h d"},
		"rolled back with its host":  {rollout(parent, "").says("user", "a").says("user", "<environment_context>x").says("user", "b").line("event_msg", `{"type":"thread_rolled_back","num_turns":1}`), "a"},
		"compaction, then rollback":  {rollout(parent, "").says("user", "a").line("compacted", summary).says("user", "b").line("event_msg", `{"type":"thread_rolled_back","num_turns":1}`), "S"},
		"without an end":             {rollout(parent, "").says("user", "a").raw(`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"b"}]}}`), "a b"},
		"torn":                       {rollout(parent, "").says("user", "a").raw(`{"type":"response_item","payl`), "a"},
		"torn, then continued":       {rollout(parent, "").raw(`{"type":"response_item","payl`+"\n").says("user", "a"), "a"},
		"empty":                      {rollout(parent, ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := read(t, c.s.text())
			if got := contents(t, f, core.Leaf{}); got != c.want {
				t.Errorf("the context is %q, want %q", got, c.want)
			}
			files, err := codex.Dialect{}.Unpack(f.Header, f.Entries, "")
			if err != nil || len(files) != 1 || string(files[0].Data) != c.s.text() {
				t.Errorf("the file is not restored: %v", err)
			}
		})
	}
}

// The id is that which Codex gave the output of such a call in a request.
func TestAbortedOutputHasTheIDThatCodexGivesIt(t *testing.T) {
	t.Parallel()
	f := read(t, rollout(parent, "").item(`{"type":"function_call","id":"fc_demo_0005","name":"run","arguments":"{}","call_id":"call_demo_0004"}`).text())
	raw, err := codex.Dialect{}.Context(f.Entries, core.Leaf{})
	if err != nil || !json.Valid(raw) {
		t.Fatal(err)
	}
	if want := `{"type":"function_call_output","id":"` + abortedID + `","call_id":"call_demo_0004","output":"aborted"}]}`; !strings.HasSuffix(string(raw), want) {
		t.Errorf("got %s, want it to end with %s", raw, want)
	}
}

func TestContextKeepsItemsByteForByte(t *testing.T) {
	t.Parallel()
	item := `{ "type":"reasoning","n":12345678901234567890,"x":1.0,"content":null,"encrypted_content":"é\u00e9<"}`
	f := read(t, rollout(parent, "").item(item).text())
	raw, err := codex.Dialect{}.Context(f.Entries, core.Leaf{})
	if err != nil || string(raw) != `{"input":[`+item+`]}` {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestContextAtAnEntry(t *testing.T) {
	t.Parallel()
	f := read(t, rollout(parent, "").says("user", "a").says("assistant", "b").text())
	if got := contents(t, f, core.LeafAt(f.Entries[1].ID)); got != "a" {
		t.Errorf("the context is %q", got)
	}
	if got := contents(t, f, core.NoLeaf); got != "" {
		t.Errorf("the context before the first line is %q", got)
	}
	if _, err := (codex.Dialect{}).Context(f.Entries, core.LeafAt("no such entry")); err == nil {
		t.Error("a leaf that does not exist has a context")
	}
}

const abortedID = "fco_6656a5a4-0c23-5e0f-9685-497ba0282bcb"
