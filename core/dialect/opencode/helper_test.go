package opencode_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/opencode"
)

const session = "ses_0000000000ffeAAAAAAAAAAAAAA"

// A script makes a list of events.
type script struct {
	of     string
	events []string
	ms     int64
}

// begin makes the events of a new session.
func begin(more ...string) *script {
	s := &script{of: session, ms: 1_700_000_000_000}
	return s.row("session.created.1", "info", s.info("New", more...))
}

func (s *script) info(title string, more ...string) string {
	return fmt.Sprintf(`{"id":%q,"slug":"calm-otter","projectID":"global","directory":"/w/a","path":"w/a","title":%q,"version":"1.18.33","time":{"created":1700000000000,"updated":%d}%s}`,
		s.of, title, s.ms, strings.Join(more, ""))
}

// event adds an event with this data, which is the rest of an object.
func (s *script) event(kind, data string) *script {
	n := len(s.events)
	s.ms += 1000
	s.events = append(s.events, fmt.Sprintf(`{"id":"evt_%04d","aggregate_id":%q,"seq":%d,"type":%q,"data":{"sessionID":%q,%s}}`, n, s.of, n, kind, s.of, data))
	return s
}

func (s *script) row(kind, name, row string) *script {
	return s.event(kind, fmt.Sprintf(`%q:%s`, name, row))
}

// message adds the row of a message. more is the rest of it.
func (s *script) message(id, role, more string) *script {
	return s.row("message.updated.1", "info", fmt.Sprintf(`{"id":%q,"sessionID":%q,"role":%q,"time":{"created":%d}%s}`, id, s.of, role, s.ms, more))
}

func (s *script) part(id, of, rest string) *script {
	return s.row("message.part.updated.1", "part", fmt.Sprintf(`{"id":%q,"sessionID":%q,"messageID":%q,%s}`, id, s.of, of, rest))
}

// asks adds a prompt, and answers an answer of the model m of the provider p.
func (s *script) asks(id, text string) *script {
	return s.message(id, "user", `,"agent":"build","model":{"providerID":"p","modelID":"m"}`).part("prt_"+id, id, fmt.Sprintf(`"type":"text","text":%q`, text))
}

func (s *script) answers(id, text string) *script {
	return s.message(id, "assistant", answer).part("prt_"+id, id, fmt.Sprintf(`"type":"text","text":%q,"time":{"start":1,"end":2}`, text))
}

const answer = `,"parentID":"x","modelID":"m","providerID":"p","mode":"build","agent":"build","path":{"cwd":"/w/a","root":"/"},"cost":0.5,"tokens":{"input":10,"output":2,"reasoning":1,"cache":{"read":4,"write":3}},"finish":"stop"`

func (s *script) text() string { return "[" + strings.Join(s.events, ",") + "]" }

func (s *script) file(t testing.TB) *core.File {
	t.Helper()
	return read(t, s.text())
}

func read(t testing.TB, text string) *core.File {
	t.Helper()
	f, err := opencode.Dialect{}.File([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// contents is what each message of the session's context says, separated by bars.
func contents(t testing.TB, f *core.File) string {
	t.Helper()
	raw, err := opencode.Dialect{}.Context(f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	return said(t, raw)
}

func said(t testing.TB, raw []byte) string {
	t.Helper()
	var got struct {
		Messages []struct {
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			Reasoning string          `json:"reasoning_content"`
			Calls     []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			Call string `json:"tool_call_id"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var all []string
	for _, m := range got.Messages {
		s := m.Role[:1] + ":" + m.Call + strings.Trim(string(m.Content), `"`)
		if m.Reasoning != "" {
			s += "(" + m.Reasoning + ")"
		}
		for _, c := range m.Calls {
			s += "+" + c.ID + "=" + c.Function.Name + c.Function.Arguments
		}
		all = append(all, s)
	}
	return strings.Join(all, "|")
}

// bundled returns the sessions of files by id, each read from its form in the
// log.
func bundled(t testing.TB, files []bundle.File) map[string]*core.File {
	t.Helper()
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	data := func(path string) []byte {
		i := slices.IndexFunc(files, func(f bundle.File) bool { return f.Path == path })
		return files[i].Data
	}
	sessions := map[string]*core.File{}
	d := opencode.Dialect{}
	for _, b := range d.Bundles(paths, func(path string) []byte { return data(path)[:min(len(data(path)), 64<<10)] }) {
		var own []bundle.File
		for _, path := range b.Files {
			own = append(own, bundle.File{Path: path, Data: data(path)})
		}
		f, err := d.Pack(b.Main, own)
		if err != nil {
			t.Fatal(err)
		}
		again, err := d.File(core.Lines(f.Header.Before(f.Entries)))
		if err != nil {
			t.Fatal(err)
		}
		sessions[again.Header.ID] = again
	}
	return sessions
}

func without(files []bundle.File, name string) []bundle.File {
	return slices.DeleteFunc(slices.Clone(files), func(f bundle.File) bool { return f.Path == name })
}

// restored returns the session's files by path.
func restored(t testing.TB, f *core.File, cwd string) map[string]string {
	t.Helper()
	files, err := opencode.Dialect{}.Unpack(f.Header, f.Entries, cwd)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		if err := bundle.CheckPath(f.Path); err != nil {
			t.Error(err)
		}
		out[f.Path] = string(f.Data)
	}
	return out
}
