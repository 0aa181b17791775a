package codex_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/codex"
)

const (
	parent = "019c0000-0000-7000-8000-00000000000a"
	child  = "019c0000-0000-7000-8000-00000000000b"
	agent  = "019c0000-0000-7000-8000-00000000000c"
	second = "019c0000-0000-7000-8000-0000000000ff"
)

// A script makes a rollout.
type script struct {
	b       strings.Builder
	ordinal int
	legacy  bool
}

// rollout begins a file of thread. more is added to the first line's payload.
func rollout(thread, more string) *script { return rolloutFrom(0, thread, more) }

func rolloutFrom(ordinal int, thread, more string) *script {
	s := &script{ordinal: ordinal}
	return s.line("session_meta", fmt.Sprintf(`{"id":%q,"timestamp":"2026-03-04T05:06:07.000Z","cwd":"/w","originator":"o","cli_version":"1","source":"cli"%s}`, thread, more))
}

func (s *script) line(kind, payload string) *script {
	number := fmt.Sprintf(`"ordinal":%d,`, s.ordinal)
	if s.legacy {
		number = ""
	}
	s.ordinal++
	return s.raw(fmt.Sprintf(`{"timestamp":"2026-03-04T05:06:%02d.000Z",%s"type":%q,"payload":%s}`+"\n", s.ordinal%60, number, kind, payload))
}

func (s *script) raw(text string) *script { s.b.WriteString(text); return s }

func (s *script) item(payload string) *script { return s.line("response_item", payload) }

func (s *script) says(role, text string) *script {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	return s.item(fmt.Sprintf(`{"type":"message","id":"msg_%d","role":%q,"content":[{"type":%q,"text":%q}],"internal_chat_message_metadata_passthrough":{"turn_id":"t"}}`, s.ordinal, role, kind, text))
}

func (s *script) text() string { return s.b.String() }

// based is the history_base of a file that continues the end of s.
func (s *script) based(thread string) string {
	return fmt.Sprintf(`,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}`, thread, s.ordinal, s.b.Len())
}

func fileName(second int, id string) string {
	return fmt.Sprintf("home/.codex/sessions/2026/03/04/rollout-2026-03-04T05-06-%02d-%s.jsonl", second, id)
}

func named(name, text string) bundle.File { return bundle.File{Path: name, Data: []byte(text)} }

// contents is what each item of the session's context says, joined by spaces.
func contents(t testing.TB, f *core.File, leaf core.Leaf) string {
	t.Helper()
	raw, err := codex.Dialect{}.Context(f.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Input []struct {
			Type    string
			CallID  string `json:"call_id"`
			Content []struct{ Text string }
			Output  string
			Own     any `json:"internal_chat_message_metadata_passthrough"`
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	words := []string{}
	for _, it := range got.Input {
		if it.Own != nil {
			t.Errorf("%s has what Codex keeps for itself", it.Type)
		}
		switch {
		case len(it.Content) > 0:
			words = append(words, it.Content[0].Text)
		case it.Output != "":
			words = append(words, it.CallID+"="+it.Output)
		default:
			words = append(words, it.Type+":"+it.CallID)
		}
	}
	return strings.Join(words, " ")
}

// restored returns the session's files by path.
func restored(t testing.TB, f *core.File) map[string]string {
	t.Helper()
	files, err := codex.Dialect{}.Unpack(f.Header, f.Entries, "/elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		if err := bundle.CheckPath(f.Path); err != nil {
			t.Error(err)
		}
		out["home/.codex/"+f.Path] = string(f.Data)
	}
	return out
}

func read(t testing.TB, text string) *core.File {
	t.Helper()
	f, err := codex.Dialect{}.File([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
