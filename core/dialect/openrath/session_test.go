package openrath_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/internal/testkit"
)

// RATH-01, RATH-02, RATH-35
func TestChunksMatchOpenRath(t *testing.T) {
	t.Parallel()
	say := "done"
	table := openrath.NewTable(
		openrath.SystemText("be kind"), openrath.UserText("go \"é\"\n"),
		openrath.AssistantTurn(nil, openrath.ToolCall{ID: "c1", Name: "noop", Arguments: `{"a": 1}`}),
		openrath.ToolFeedback("c1", "noop", `{"ok": true}`), openrath.AssistantTurn(&say),
	)
	want := []string{system, strings.Replace(user, `go \u00e9`, `go \"é\"\n`, 1), calls, result, done}
	testkit.Equal(t, "lines", want, rows(table))
	for _, bad := range []struct{ kind, payload string }{{"human", "{}"}, {"user", "[]"}, {"user", ""}, {"", "{}"}} {
		if _, err := openrath.NewChunk(openrath.Kind(bad.kind), []byte(bad.payload)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// RATH-03
func TestTableIsImmutable(t *testing.T) {
	t.Parallel()
	given := []openrath.Chunk{openrath.UserText("a"), openrath.UserText("b")}
	one := openrath.NewTable(given[:1]...)
	two, three := one.Extend(given[1]), one.Extend(openrath.UserText("c"))
	given[0] = openrath.UserText("x")
	copy(two.At(1).Payload(), "xxxx")
	for what, row := range map[string]struct {
		table openrath.Table
		last  string
		n     int
	}{"one": {one, "a", 1}, "two": {two, "b", 2}, "three": {three, "c", 2}} {
		testkit.Equal(t, what, []any{row.n, row.last}, []any{row.table.Len(), row.table.At(row.table.Len() - 1).Content()})
	}
}

// RATH-04
func TestMessages(t *testing.T) {
	t.Parallel()
	f, d := read(t, whole()), openrath.Dialect{}
	m := []string{
		`{"role":"system","content":"be kind"}`, `{"role":"user","content":"go é"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"noop","arguments":"{\"a\": 1}"}}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"{\"ok\": true}"}`, `{"role":"assistant","content":"done"}`,
	}
	for i := range m {
		got, err := d.Context(f.Entries, core.LeafAt(f.Entries[i].ID))
		if err != nil {
			t.Fatal(err)
		}
		testkit.Equal(t, "context", parsed(t, []byte(`{"messages":[`+strings.Join(m[:i+1], ",")+`]}`)), parsed(t, got))
	}
	none, err := d.Context(f.Entries, core.NoLeaf)
	testkit.Equal(t, "before all", `{"messages":[]} <nil>`, string(none)+" "+errText(err))
	if _, err := d.Context(f.Entries, core.LeafAt("9")); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a leaf that is not there: %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

// RATH-05, RATH-06, RATH-07, RATH-08
func TestSessionLineage(t *testing.T) {
	t.Parallel()
	create := func(kind string) openrath.Session {
		s, err := openrath.Create(idA, kind, "hi")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	source := func(v string) []openrath.Extra { return []openrath.Extra{{Key: "source", Value: v}} }
	for _, row := range []struct {
		s        openrath.Session
		kind     openrath.LineageKind
		operator string
		extras   []openrath.Extra
		rows     int
	}{
		{openrath.FromUserMessage(idA, "hi"), "unknown", "implicit", nil, 1},
		{openrath.FromAgentPrompt(idA, "hi"), "unknown", "implicit", nil, 1},
		{create("user"), "leaf_user", "Session.create", source("Session.create"), 1},
		{create("system"), "leaf_system", "Session.create", source("Session.create"), 1},
		{create("empty"), "unknown", "implicit", nil, 0},
		{openrath.CreateUserSession(idA, "hi"), "leaf_user", "create_user_session", source("create_user_session"), 1},
		{openrath.CreateSystemSession(idA, "hi"), "leaf_system", "create_system_session", source("create_system_session"), 1},
	} {
		testkit.Equal(t, row.operator, []any{row.kind, row.operator, row.extras, row.rows, idA}, []any{row.s.Kind, row.s.Operator, row.s.Extras, row.s.Rows.Len(), row.s.ID})
	}
	if _, err := openrath.Create(idA, "agent", ""); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("another kind: %v", err)
	}
}

func bound() openrath.Session {
	s := openrath.FromUserMessage(idA, "a")
	s.Sandbox = openrath.Sandbox{Backend: "local", Spec: json.RawMessage(`{"image":"x"}`), Handle: "h"}
	s.Usage = &openrath.Usage{Prompt: 1, Completion: 2, Total: 3}
	s.Extras = []openrath.Extra{{Key: "k", Value: 1}}
	return s
}

// RATH-05, RATH-09, RATH-10
func TestForkAndDetach(t *testing.T) {
	t.Parallel()
	s := bound()
	f, d := s.Fork(idB), s.Detach(idC)
	testkit.Equal(t, "fork", []any{idB, []string{idA}, openrath.LineageFork, "Session.fork"}, []any{f.ID, f.Parents, f.Kind, f.Operator})
	testkit.Equal(t, "detach", []any{idC, []string(nil), openrath.LineageDetach, "Session.detach"}, []any{d.ID, d.Parents, d.Kind, d.Operator})
	for _, n := range []openrath.Session{f, d} {
		testkit.Equal(t, "rows", rows(s.Rows), rows(n.Rows))
		testkit.Equal(t, "sandbox", s.Sandbox, n.Sandbox)
		if n.Usage != nil || n.Extras != nil {
			t.Error("cost or extras were copied")
		}
		n.Sandbox.Spec[0] = 'x'
	}
	testkit.Equal(t, "the source's spec", `{"image":"x"}`, string(s.Sandbox.Spec))
}

// RATH-11, RATH-12, RATH-13
func TestMergeSessions(t *testing.T) {
	t.Parallel()
	a, b := bound(), openrath.FromUserMessage(idB, "b")
	b.Sandbox.Backend = "remote"
	m, err := a.Merge(idC, b)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "merge", []any{[]string{idA, idB}, openrath.LineageMerge, a.Sandbox, "a", "b", *a.Usage},
		[]any{m.Parents, m.Kind, m.Sandbox, m.Rows.At(0).Content(), m.Rows.At(1).Content(), *m.Usage})
	back, err := b.Merge(idC, a)
	if err != nil || back.Sandbox.Handle != "" || back.Sandbox.Backend != "remote" {
		t.Errorf("unbound first: %v, %v", back.Sandbox, err)
	}
	b.Usage = &openrath.Usage{Prompt: 10, Completion: 20, Total: 30}
	if m, err = a.Merge(idC, b); err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "sum", openrath.Usage{Prompt: 11, Completion: 22, Total: 33}, *m.Usage)
	a.Sandbox.Handle = ""
	if _, err := a.Merge(idC, b); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), `"local" and "remote"`) {
		t.Errorf("unbound and apart: %v", err)
	}
	b.Sandbox.Backend = ""
	if _, err := a.Merge(idC, b); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("no backend and another: %v", err)
	}
	a.Sandbox.Backend, a.Usage, b.Usage = "", nil, nil
	if m, err = a.Merge(idC, b); err != nil || m.Usage != nil {
		t.Errorf("unbound for the same: %v, %v", m.Usage, err)
	}
	self, err := a.Merge(idC, a)
	testkit.Equal(t, "with itself", []any{nil, []string{idA, idA}, 2}, []any{err, self.Parents, self.Rows.Len()})
}

// RATH-48, RATH-57: the sandbox is kept as OpenRath's registry needs it to attach it again.
func TestResume(t *testing.T) {
	t.Parallel()
	l := load(t, whole())
	l.Parents, l.Usage = []string{idC}, &openrath.Usage{}
	l.Sandbox = openrath.Sandbox{Backend: "opensandbox", Spec: json.RawMessage(`{}`), Handle: idC}
	empty := ""
	for _, row := range []struct {
		prompt *string
		want   []string
	}{
		{nil, []string{system}},
		{&empty, []string{strings.Replace(system, "be kind", "", 1)}},
	} {
		u, a := l.Resume(idB, idC, row.prompt)
		testkit.Equal(t, "rows", rows(l.Rows), rows(u.Rows))
		testkit.Equal(t, "user", openrath.Session{ID: idB, Rows: u.Rows, Operator: "implicit", Kind: "unknown", Sandbox: l.Sandbox}.Header(), u.Header())
		testkit.Equal(t, "agent", row.want, rows(a.Rows))
	}
	l.Rows, l.Sandbox.Handle = openrath.Table{}, "no-uuid"
	u, a := l.Resume(idB, idC, nil)
	testkit.Equal(t, "without system", 0, a.Rows.Len())
	testkit.Equal(t, "handle", "", u.Sandbox.Handle)
}

// RATH-56
func TestHeaderHasNonJSONExtrasAsText(t *testing.T) {
	t.Parallel()
	s := bound().Fork(idB)
	s.Extras = []openrath.Extra{{Key: "n", Value: 1}, {Key: "inf", Value: math.Inf(1)}, {Key: "c", Value: make(chan int)}, {Key: "list", Value: []string{"<é>", ":,"}}}
	line := s.Header()
	extras := parsed(t, line).(map[string]any)["lineage_extras"].([]any)
	testkit.Equal(t, "infinity", "+Inf", extras[1].([]any)[1])
	if s, ok := extras[2].([]any)[1].(string); !ok || s == "" {
		t.Errorf("a channel is %v", extras[2])
	}
	if !strings.Contains(string(line), `["list", ["<é>", ":,"]]`) {
		t.Errorf("a list in %s", line)
	}
}

// RATH-45, RATH-46, RATH-47
func TestListAndExpiry(t *testing.T) {
	t.Parallel()
	d := openrath.Dialect{}
	at := func(when string) []byte {
		return []byte(strings.Replace(string(whole()), "2026-01-02T03:04:05.678901+00:00", when, 1))
	}
	metas, skipped := d.List([]openrath.NamedFile{
		{Path: "new.jsonl", Data: at("2026-03-01T00:00:00+00:00")},
		{Path: "bad.jsonl", Data: []byte("\xff\n")},
		{Path: "naive.jsonl", Data: at("2026-02-01T00:00:00")},
		{Path: "old.jsonl.__partial__", Data: text(strings.Replace(header, "2026-01-02T03:04:05.678901+00:00", "2026-01-31T23:30:00-00:30", 1), system)},
		{Path: "list.jsonl", Data: []byte("[]\n")},
	})
	var paths []string
	for _, m := range metas {
		paths = append(paths, m.Path)
	}
	testkit.Equal(t, "order", []string{"naive.jsonl", "old.jsonl.__partial__", "new.jsonl"}, paths)
	testkit.Equal(t, "partial", []any{idA, 1, false, true}, []any{metas[1].ID, metas[1].Chunks, metas[1].Closed, metas[1].Partial})
	testkit.Equal(t, "final", []any{5, true, false}, []any{metas[2].Chunks, metas[2].Closed, metas[2].Partial})
	if skipped == nil || !strings.Contains(skipped.Error(), "bad.jsonl:1") || !strings.Contains(skipped.Error(), "list.jsonl:1") {
		t.Errorf("skipped: %v", skipped)
	}
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for days, n := range map[int]int{0: 3, 1: 2, 7: 2, 28: 2, 29: 0, 365: 0} {
		testkit.Equal(t, "expired", n, len(openrath.Expired(metas, now, time.Duration(days)*24*time.Hour)))
	}
}
