package nova_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
)

// indented is plain on many lines.
func indented(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(plain), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func readFile(t testing.TB, data string) *core.File {
	t.Helper()
	f, d, err := dialect.Read("", []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != "nova" {
		t.Fatalf("read as %s", d.Name())
	}
	return f
}

func layout(f *core.File, more ...core.Entry) string {
	return string(core.Lines(nova.Dialect{}.Layout(f.Header, append(f.Entries[:len(f.Entries):len(f.Entries)], more...))))
}

// NOVA-28
func TestUnchangedFileIsByteIdentical(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"one line": plain + "\n", "many lines": indented(t) + "\n", "carriage returns": strings.ReplaceAll(indented(t), "\n", "\r\n") + "\n",
		"a mark in front": "\uFEFF" + plain + "\n", "empty lines behind": plain + "\n\n\n", "separators": strings.Replace(plain, "Build it", "a\u2028b\u0085c", 1) + "\n",
	} {
		f := readFile(t, data)
		if !f.Exact || layout(f) != data {
			t.Errorf("%s: exact %v\n%s", name, f.Exact, cmp.Diff(data, layout(f)))
		}
		name := nova.Dialect{}.NewName("A name")
		if got := layout(f, entries(t, name)...); got != data {
			t.Errorf("naming the session changed its file to\n%s", got)
		}
	}
	for _, data := range []string{plain, indented(t)} {
		if f := readFile(t, data); f.Exact || layout(f) != data+"\n" {
			t.Errorf("without a newline at its end: exact %v\n%s", f.Exact, layout(f))
		}
	}
}

// NOVA-02, NOVA-27
func TestChangedFileHasNovasOrder(t *testing.T) {
	t.Parallel()
	f := readFile(t, indented(t)+"\n")
	got := layout(f, entries(t, nova.NewTokens(5))...)
	want := `{"session_id":"` + id + `","created_at":"` + created + `","last_updated":"2026-03-01T10:00:00.000000","model":"m-1","agent_name":"impl","current_plan":"Build it","key_decisions":[{"decision":"Use a queue","rationale":"Load","timestamp":"2026-03-01T09:10:00.000001"}],"latest_artifacts":{"a":"/a","b":"/b"},"tokens_used":1205,"turn_count":3,"tags":["pr","feature"],"metrics":{"task_count":3,"decision_count":1,"total_tokens":1205,"cost":1.5},"fork_count":0,"pruned":false,"mood":"good"}` + "\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s, err := nova.ReadDict([]byte(got))
	if err != nil {
		t.Fatal(err)
	}
	if without := string(s.DictWithoutTags()); strings.Contains(without, `"tags"`) || len(without) >= len(got) {
		t.Errorf("without tags: %s", without)
	}
	if diff := cmp.Diff(s, nova.Fold(f.Header, append(f.Entries, entries(t, nova.NewTokens(5))...))); diff != "" {
		t.Errorf("what is written is not what is read: %s", diff)
	}
}

// NOVA-02, NOVA-06, NOVA-27
func TestDictOmitsEmptyMembers(t *testing.T) {
	t.Parallel()
	least := `{"session_id":"abcdefgh","created_at":"a","last_updated":"b","agent_name":null,"metrics":null,"key_decisions":null}`
	s, err := nova.ReadDict([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"session_id":"abcdefgh","created_at":"a","last_updated":"b","model":"claude-sonnet-4-5-20250929","key_decisions":[],"latest_artifacts":{},"tokens_used":0,"turn_count":0,"tags":[],"metrics":{"task_count":0,"decision_count":0,"total_tokens":0},"fork_count":0,"pruned":false}`
	if diff := cmp.Diff(want, string(s.Dict())); diff != "" {
		t.Error(diff)
	}
}

// NOVA-28
func TestFileNamesTheBadMember(t *testing.T) {
	t.Parallel()
	for old, bad := range map[string][2]string{
		`"session_id": "` + id + `", `:             {"", "session_id is missing"},
		`"session_id": "` + id + `"`:               {`"session_id": "../../../etc"`, "session_id"},
		`"created_at": "` + created + `", `:        {"", "created_at is missing"},
		`"last_updated": `:                         {`"last_update": `, "last_updated is missing"},
		`"model": "m-1"`:                           {`"model": 1`, "model is not a string"},
		`"tokens_used": 1200`:                      {`"tokens_used": "many"`, "tokens_used is not a whole number"},
		`"turn_count": 3`:                          {`"turn_count": 3.5`, "turn_count is not a whole number"},
		`"pruned": false`:                          {`"pruned": "no"`, "pruned is neither true nor false"},
		`"tags": ["pr", "feature"]`:                {`"tags": [1]`, "tags has an item that is not a string"},
		`"b": "/b"`:                                {`"b": {"content": "x"}`, `latest_artifacts."b" is not a string`},
		`"total_tokens": 1200`:                     {`"total_tokens": {}`, "metrics.total_tokens is not a whole number"},
		`"rationale": "Load"`:                      {`"rationale": []`, "key_decisions.rationale is not a string"},
		`{"decision": "Use a queue", "rationale":`: {`"x", {"rationale":`, "key_decisions is not an object"},
	} {
		data := strings.Replace(plain, old, bad[0], 1)
		if data == plain {
			t.Fatalf("%s is not in the file", old)
		}
		if _, err := (nova.Dialect{}).File([]byte(data)); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), bad[1]) {
			t.Errorf("%s: %v", bad[1], err)
		}
	}
	for _, data := range []string{"", "{", "[]", plain + "{}", "null"} {
		if _, err := (nova.Dialect{}).File([]byte(data)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", data, err)
		}
		if (nova.Dialect{}).Detect([]byte(data)) {
			t.Errorf("%q is taken for a file of Nova", data)
		}
	}
}

// NOVA-01
func TestFileNameIsTheSessionID(t *testing.T) {
	t.Parallel()
	dir, file := nova.Dialect{}.FileName(readFile(t, plain).Header)
	if dir != "" || file != id+".json" {
		t.Errorf("%q %q", dir, file)
	}
}

func TestFileContinuedByNovaReplacesState(t *testing.T) {
	t.Parallel()
	old, now := readFile(t, plain), readFile(t, strings.Replace(plain, `"turn_count": 3`, `"turn_count": 4`, 1))
	if !bytes.Equal(old.Header.Line, now.Header.Line) || !bytes.Equal(old.Entries[0].Line, now.Entries[0].Line) {
		t.Error("it does not begin as it did")
	}
	es := []core.Entry{old.Entries[0], old.Entries[1], now.Entries[1]}
	if s := nova.Fold(old.Header, es); s.TurnCount != 4 {
		t.Errorf("%d turns", s.TurnCount)
	}
	es = append(es, entries(t, nova.NewTokens(5))...)
	want := nova.Fold(old.Header, es)
	for name, copied := range map[string]string{
		"the first file":                plain + "\n",
		"the second, spelled otherwise": strings.Replace(plain, `"turn_count": 3`, `"turn_count":4`, 1),
	} {
		late := readFile(t, copied)
		if diff := cmp.Diff(want, nova.Fold(old.Header, append(es[:len(es):len(es)], late.Entries[1]))); diff != "" {
			t.Errorf("%s took the session back: %s", name, diff)
		}
	}
}

// NOVA-13, NOVA-34
func TestInfoContextAndSummary(t *testing.T) {
	t.Parallel()
	d := nova.Dialect{}
	f := readFile(t, plain+"\n")
	es := append(f.Entries, entries(t, d.NewName("A name"), must(t)(nova.NewTask(1, nil, nova.DefaultLimits)))...)
	info, err := d.Info(f.Header, es, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	s := nova.Fold(f.Header, es)
	if diff := cmp.Diff(string(s.Dict()), string(info.Own)); diff != "" || info.SessionID != id || *info.Name != "A name" || *info.LeafID != "e1" {
		t.Errorf("%+v %s", info, diff)
	}
	ctx, err := d.Context(es, core.LeafAt("e1"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Context string
		State   json.RawMessage
	}
	if err := json.Unmarshal(ctx, &got); err != nil || got.Context != s.Text() || !bytes.Equal(got.State, info.Own) {
		t.Errorf("%s: %v", ctx, err)
	}
	if _, err := d.Context(es, core.LeafAt("nowhere")); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("from nowhere: %v", err)
	}
	want := display.Summary{
		Name: "A name", First: "Build it", Messages: 4, Created: "2026-03-01T09:00:00.000Z", Modified: "2026-03-01T10:00:00.000Z",
		Usage: item.Usage{Input: 1200}, Tags: []string{"pr", "feature"},
	}
	if diff := cmp.Diff(want, d.Summary(f.Header, es)); diff != "" {
		t.Error(diff)
	}
}

// NOVA-16, NOVA-17
func TestCopyMadeByTheLogIsAFork(t *testing.T) {
	t.Parallel()
	d := nova.Dialect{}
	f := readFile(t, plain+"\n")
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "01HCOPYCOPY", Time: later, Parent: id}))
	if err != nil {
		t.Fatal(err)
	}
	begun, err := d.Fill(d.SessionMark(h), core.Fields{ID: "begun", Time: later})
	if err != nil {
		t.Fatal(err)
	}
	es := append(f.Entries[:len(f.Entries):len(f.Entries)], begun)
	s := nova.Fold(h, es)
	if diff := cmp.Diff(s, nova.Fold(h, f.Entries)); diff != "" {
		t.Errorf("without its begin: %s", diff)
	}
	if s.TurnCount != 0 || s.SessionID != "01HCOPYCOPY" || s.ForkParentID != id || s.CreatedAt != "2026-03-01T10:00:00.000000" || s.CurrentPlan != "Build it" {
		t.Errorf("%+v", s)
	}
	if out := core.Lines(d.Layout(h, f.Entries)); bytes.Contains(out, []byte(`"session_id": "`+id)) {
		t.Errorf("it is written as its parent:\n%s", out)
	}
	if ctx, err := d.Context(es, core.Leaf{}); err != nil || !bytes.Contains(ctx, []byte("Session ID: 01HCOPYCOPY")) {
		t.Errorf("%s, %v", ctx, err)
	}
}

// NOVA-02, NOVA-28
func TestCorpusRoundTrip(t *testing.T) {
	t.Parallel()
	root := dialecttest.Corpus(t)
	names, _ := filepath.Glob(filepath.Join(root, "nova", "*-*-*.json"))
	if len(names) == 0 {
		t.Error("there is no session in the corpus")
	}
	for _, path := range names {
		data := testkit.ReadFile(t, path)
		f := readFile(t, string(data))
		if got := layout(f); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(string(data), "\n") {
			t.Errorf("%s: %s", path, cmp.Diff(string(data), got))
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(compact.String(), string(nova.Fold(f.Header, f.Entries).Dict())); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte(indented(f) + "\n"))
	f.Add([]byte(`{"session_id":"abcdefgh","created_at":"","last_updated":"","metrics":{"a":1e400},"":"` + "\xff" + `"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := nova.Dialect{}
		file, err := d.File(data)
		if err != nil {
			return
		}
		out := core.Lines(d.Layout(file.Header, file.Entries))
		if file.Exact != bytes.Equal(out, data) {
			t.Errorf("exact %v\n%q\n%q", file.Exact, data, out)
		}
		s := nova.Fold(file.Header, file.Entries)
		again, err := nova.ReadDict(s.Dict())
		if err != nil {
			t.Fatalf("%v: %s", err, s.Dict())
		}
		if !bytes.Equal(again.Dict(), s.Dict()) {
			t.Errorf("%s\n%s", s.Dict(), again.Dict())
		}
		info, err := d.Info(file.Header, file.Entries, core.Leaf{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(info); err != nil {
			t.Error(err)
		}
	})
}
