package codex_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/codex"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/item"
)

func texts(s string) []item.Block { return []item.Block{{Kind: item.BlockText, Text: s}} }

func TestRead(t *testing.T) {
	t.Parallel()
	answer := func(b item.Block, stop item.Stop) item.Item {
		return item.Item{Kind: item.Message, Role: item.RoleAssistant, API: "openai-responses", Stop: stop, Blocks: []item.Block{b}}
	}
	for name, c := range map[string]struct {
		kind, payload string
		want          []item.Item
	}{
		"user":      {"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}`, []item.Item{{Kind: item.Message, Role: item.RoleUser, Blocks: texts("a")}}},
		"host":      {"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"}]}`, nil},
		"developer": {"response_item", `{"type":"message","role":"developer","content":[{"type":"input_text","text":"a"}]}`, []item.Item{{Kind: item.Message, Role: item.RoleSystem, Blocks: texts("a")}}},
		"image": {
			"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"<image name=[Image #1] path=\"/p\">"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"},{"type":"input_text","text":"</image>"}]}`,
			[]item.Item{{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockImage, MIME: "image/png", Data: "QUJD"}}}},
		},
		"answer":       {"response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`, []item.Item{answer(texts("a")[0], item.StopEnd)}},
		"thought":      {"response_item", `{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"x"}`, []item.Item{answer(item.Block{Kind: item.BlockThinking, Text: "a\n\nb", Signature: "x"}, item.StopEnd)}},
		"hidden":       {"response_item", `{"type":"reasoning","summary":[],"encrypted_content":"x"}`, []item.Item{answer(item.Block{Kind: item.BlockThinking, Hidden: true, Signature: "x"}, item.StopEnd)}},
		"call":         {"response_item", `{"type":"function_call","name":"f","arguments":"{\"a\":1}","call_id":"c"}`, []item.Item{answer(item.Block{Kind: item.BlockCall, ID: "c", Name: "f", Args: json.RawMessage(`{"a":1}`)}, item.StopTools)}},
		"cut call":     {"response_item", `{"type":"function_call","name":"f","arguments":"{\"a","call_id":"c"}`, []item.Item{answer(item.Block{Kind: item.BlockCall, ID: "c", Name: "f", Args: json.RawMessage(`"{\"a"`)}, item.StopTools)}},
		"custom call":  {"response_item", `{"type":"custom_tool_call","name":"f","input":"x","call_id":"c"}`, []item.Item{answer(item.Block{Kind: item.BlockCall, ID: "c", Name: "f", Args: json.RawMessage(`{"input":"x"}`)}, item.StopTools)}},
		"output":       {"response_item", `{"type":"function_call_output","call_id":"c","output":"r"}`, []item.Item{{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{{Kind: item.BlockResult, ID: "c", Blocks: texts("r")}}}}},
		"output list":  {"response_item", `{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"r"}]}`, []item.Item{{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{{Kind: item.BlockResult, ID: "c", Blocks: texts("r")}}}}},
		"compaction":   {"compacted", `{"message":"S","replacement_history":[{"type":"message","role":"user","content":[{"text":"a"}]},{"type":"message","role":"user","content":[{"text":"S"}]}]}`, []item.Item{{Kind: item.Compaction, Text: "S"}, {Kind: item.Message, Role: item.RoleUser, Blocks: texts("a")}}},
		"settings":     {"event_msg", `{"type":"thread_settings_applied","thread_settings":{"model":"m","model_provider_id":"p"}}`, []item.Item{{Kind: item.Model, Provider: "p", Model: "m"}}},
		"name":         {"event_msg", `{"type":"thread_name_updated","thread_name":"n"}`, []item.Item{{Kind: item.Name, Text: "n"}}},
		"turn context": {"turn_context", `{"model":"m"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := read(t, rollout(parent, "").line(c.kind, c.payload).text())
			got := codex.Dialect{}.Read(f.Entries[1])
			for i := range got {
				if got[i].Time != "2026-03-04T05:06:02.000Z" {
					t.Errorf("time %q", got[i].Time)
				}
				got[i].Time = ""
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("items (-want +got):\n%s", d)
			}
		})
	}
}

// Codex reads no file that says that it is a fork of a session whose id is no UUID.
func TestForkOfAnotherAgentsSession(t *testing.T) {
	t.Parallel()
	d := codex.Dialect{}
	for of, want := range map[string]bool{parent: true, "ses_0000000000ffeAAAAAAAAAAAAAA": false} {
		h, err := d.Header(d.NewHeader(core.HeaderFields{ID: child, Time: "2026-03-04T05:06:07.000Z", CWD: "/w", Parent: of}))
		if err != nil {
			t.Fatal(err)
		}
		files, err := d.Unpack(h, nil, "")
		if err != nil || len(files) != 1 || strings.Contains(string(files[0].Data), `"forked_from_id":"`+of) != want {
			t.Errorf("fork of %s: %v, %v", of, files, err)
		}
	}
}

// A session that was made in the log becomes a rollout, and that is read as the
// same conversation.
func TestMadeSessionBecomesARollout(t *testing.T) {
	t.Parallel()
	d := codex.Dialect{}
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: child, Time: "2026-03-04T05:06:07.000Z", CWD: "/w", Parent: parent}))
	if err != nil {
		t.Fatal(err)
	}
	var es []core.Entry
	for i, it := range []item.Item{
		{Kind: item.Compaction, Text: "S"},
		{Kind: item.Message, Role: item.RoleUser, Blocks: append(texts("a"), item.Block{Kind: item.BlockImage, MIME: "image/png", Data: "QUJD"})},
		{Kind: item.Message, Role: item.RoleAssistant, Blocks: append(texts("b"), item.Block{Kind: item.BlockCall, ID: "c", Name: "f", Args: json.RawMessage(`{}`)})},
		{Kind: item.Message, Role: item.RoleTool, Blocks: []item.Block{{Kind: item.BlockResult, ID: "c", Blocks: texts("r")}}},
		{Kind: item.Name, Text: "N"},
	} {
		line, lost := d.Write(it)
		if line == nil || len(lost) > 0 && it.Kind != item.Name { // which is in the log only
			t.Fatalf("%v: %s, lost %v", it.Kind, line, lost)
		}
		e, err := d.Fill(line, core.Fields{ID: "e" + itoa(i), Time: "2026-03-04T05:06:08.000Z", Position: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	want := "S a b function_call:c c=r"
	if got := contents(t, &core.File{Header: h, Entries: es}, core.Leaf{}); got != want {
		t.Errorf("the context is %q, want %q", got, want)
	}
	files, err := d.Unpack(h, es, "")
	if err != nil || len(files) != 1 || files[0].Path != "sessions/2026/03/04/rollout-2026-03-04T05-06-07-"+child+".jsonl" {
		t.Fatalf("%v, %v", files, err)
	}
	f := read(t, string(files[0].Data))
	if got := contents(t, f, core.Leaf{}); got != want {
		t.Errorf("the context of the file is %q, want %q", got, want)
	}
	if f.Header.ID != child || !strings.Contains(string(files[0].Data), `"type":"user_message","message":"a"`) {
		t.Errorf("the file is %s", files[0].Data)
	}
	if s := d.Summary(h, es); s.Name != "N" || s.First != "a" || s.Messages != 2 {
		t.Errorf("summary %+v", s)
	}
}

// Lines that were made in the log are added to the newest file.
func TestMadeLinesContinueTheNewestFile(t *testing.T) {
	t.Parallel()
	d := codex.Dialect{}
	s := rollout(parent, "").says("user", "a")
	f := read(t, s.text())
	line, _ := d.Write(item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: texts("b")})
	e, err := d.Fill(line, core.Fields{ID: "made", Time: "2026-03-04T05:06:08.000Z"})
	if err != nil {
		t.Fatal(err)
	}
	es := append(f.Entries, e)
	name, err := d.Fill(d.NewName("N"), core.Fields{ID: "name", Time: "2026-03-04T05:06:09.000Z"})
	if err != nil {
		t.Fatal(err)
	}
	es = append(es, name)
	if got := contents(t, &core.File{Entries: es}, d.Leaf(es)); got != "a b" {
		t.Errorf("the context is %q", got)
	}
	if leaf, want := d.Leaf(es), core.LeafAt("made"); leaf != want {
		t.Errorf("the leaf is %v, want %v", leaf, want)
	}
	files, err := d.Unpack(f.Header, es, "")
	if err != nil || len(files) != 1 {
		t.Fatal(err)
	}
	added, ok := strings.CutPrefix(string(files[0].Data), s.text())
	if want := `{"timestamp":"2026-03-04T05:06:08.000Z","ordinal":2,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}}` + "\n"; !ok || added != want {
		t.Errorf("added %q, want %q", added, want)
	}
}

func TestUsageCountsEachAnswerOnce(t *testing.T) {
	t.Parallel()
	used := func(thread, response string, n int) string {
		return `{"thread_id":"` + thread + `","response_id":"` + response + `","usage":{"input_tokens":` + itoa(10*n) + `,"cached_input_tokens":` + itoa(n) + `,"cache_write_input_tokens":0,"output_tokens":` + itoa(n) + `}}`
	}
	begin := rollout(parent, "").says("user", "a").line("token_usage_record", used(parent, "r1", 1))
	fork := rolloutFrom(begin.ordinal, child, begin.based(parent)).line("token_usage_record", used(child, "r2", 2)).line("token_usage_record", used(child, "r2", 2)).line("token_usage_record", used(parent, "r1", 1))
	all := bundled(t, []bundle.File{named(fileName(1, parent), begin.text()), named(fileName(2, child), fork.text())})
	for id, want := range map[string]item.Usage{parent: {Input: 9, CacheRead: 1, Output: 1}, child: {Input: 18, CacheRead: 2, Output: 2}} {
		if got := (codex.Dialect{}).Summary(all[id].Header, all[id].Entries).Usage; got != want {
			t.Errorf("usage of %s is %+v, want %+v", id, got, want)
		}
		dialecttest.Grows(t, codex.Dialect{}, all[id].Header, all[id].Entries)
	}
	old := rollout(parent, "")
	for n := range 3 {
		old.line("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":`+itoa(n)+`,"output_tokens":`+itoa(n)+`}}}`)
	}
	f := read(t, old.text())
	if got := (codex.Dialect{}).Summary(f.Header, f.Entries).Usage; got != (item.Usage{Input: 2, Output: 2}) {
		t.Errorf("usage without records is %+v", got)
	}
}

// Lines in the middle of a file, of another file, and made in the log.
func TestSummaryGrowsWithTheThread(t *testing.T) {
	t.Parallel()
	begin := rollout(parent, "").says("user", "a").says("assistant", "b").line("event_msg", `{"type":"thread_name_updated","thread_name":"one"}`)
	revert := rolloutFrom(begin.ordinal, parent, begin.based(parent)).says("user", "c").says("assistant", "d")
	helper := rollout(agent, `,"parent_thread_id":"`+parent+`"`).says("user", "task")
	all := bundled(t, []bundle.File{named(fileName(1, parent), begin.text()), named(strings.Replace(fileName(2, parent), ".jsonl", "_"+second+".jsonl", 1), revert.text()+"{torn"), named(fileName(3, agent), helper.text())})
	f := all[parent]
	made, err := codex.Dialect{}.Fill(codex.Dialect{}.NewName("two"), core.Fields{ID: "n", Time: "2036-01-02T03:04:05.000Z"})
	if err != nil {
		t.Fatal(err)
	}
	if s := (codex.Dialect{}).Summary(f.Header, append(slices.Clone(f.Entries), made)); s.Changed != "2036-01-02T03:04:05.000Z" {
		t.Errorf("changed %s, want the time of its name", s.Changed)
	}
	dialecttest.Grows(t, codex.Dialect{}, f.Header, slices.Insert(slices.Clone(f.Entries), len(f.Entries)/2, made))
	dialecttest.Grows(t, codex.Dialect{}, f.Header, f.Entries)
	if s := (codex.Dialect{}).Summary(f.Header, f.Entries); s.Messages != 4 || s.First != "a" || s.Name != "one" {
		t.Errorf("summary %+v", s)
	}
}
