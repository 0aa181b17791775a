package nova_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/nova"
)

const (
	sid = "0f0e0d0c-aaaa-4bbb-8ccc-000000000001"
	now = "2026-01-02T03:04:05.678Z"
)

// file is a state as Nova writes it.
const file = `{"session_id":"` + sid + `","created_at":"2026-01-01T00:00:00.000001","last_updated":"2026-01-01T00:00:00.000002","model":"m-1","agent_name":"impl","key_decisions":[{"decision":"D","rationale":"R","timestamp":"2026-01-01T00:00:00.000003"}],"latest_artifacts":{"spec":"docs/spec.md"},"tokens_used":5,"turn_count":2,"tags":["pr","feature"],"metrics":{"task_count":2,"decision_count":1,"total_tokens":5},"fork_parent_id":"0f0e0d0c-aaaa-4bbb-8ccc-000000000000","fork_count":0,"pruned":false}`

// A history is a session in the making.
type history struct {
	t  *testing.T
	h  core.Header
	es []core.Entry
}

func begun(t *testing.T) *history {
	t.Helper()
	st, err := nova.New(sid, now, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	h, first, err := nova.Begin(st, "/w")
	if err != nil {
		t.Fatal(err)
	}
	return &history{t, h, []core.Entry{first}}
}

func opened(t *testing.T, data string) *history {
	t.Helper()
	f, err := nova.Dialect{}.File([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return &history{t, f.Header, f.Entries}
}

// add appends the line that a function of package nova gave.
func (h *history) add(line []byte, err error) nova.State {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
	e, err := nova.Dialect{}.Fill(line, core.Fields{ID: fmt.Sprint("e", len(h.es)), Parent: core.LeafAt("x"), Time: now})
	if err != nil {
		h.t.Fatal(err)
	}
	h.es = append(h.es, e)
	return h.state()
}

func (h *history) state() nova.State { return nova.Fold(h.h, h.es) }

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got)\n%s", what, d)
	}
}

// NOVA-03, NOVA-04
func TestIDsAreCheckedBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	for _, id := range []string{sid, "abcdefgh", "A_b-0123", strings.Repeat("a", 128)} {
		if err := nova.CheckID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", "short12", "abcdefgh\n", "../../etc/passwd", `abc\defgh`, "abc..defgh", "abcdéfgh", "abcd efgh", "abcdefgh\x00", strings.Repeat("a", 129)} {
		if err := nova.CheckID(id); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := nova.New(id, now, "", "", nil); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("new %q: %v", id, err)
		}
	}
}

// NOVA-02, NOVA-06, NOVA-35
func TestNewSessionHasNovasDefaults(t *testing.T) {
	t.Parallel()
	equal(t, "state", `{"session_id":"`+sid+`","created_at":"2026-01-02T03:04:05.678000","last_updated":"2026-01-02T03:04:05.678000","model":"claude-sonnet-4-5-20250929","key_decisions":[],"latest_artifacts":{},"tokens_used":0,"turn_count":0,"tags":[],"metrics":{"task_count":0,"decision_count":0,"total_tokens":0},"fork_count":0,"pruned":false}`,
		string(begun(t).state().JSON()))
	st, err := nova.New(sid, now, "m", "impl", []string{"a", "b", "a"})
	if err != nil || st.Model != "m" || st.AgentName != "impl" || !cmp.Equal(st.Tags, []string{"a", "b"}) {
		t.Errorf("%v, %v", st, err)
	}
}

// NOVA-23
func TestOnlyTheNewestTenDecisionsStay(t *testing.T) {
	t.Parallel()
	h := begun(t)
	for i := range 12 {
		h.add(nova.AddDecision(fmt.Sprint("d", i), "r", ""))
	}
	st := h.add(nova.AddDecision("last", "", "2026-01-01T00:00:00Z"))
	if len(st.Decisions) != 10 || st.Metrics.DecisionCount != 13 {
		t.Fatalf("%d decisions, count %d", len(st.Decisions), st.Metrics.DecisionCount)
	}
	equal(t, "first", nova.Decision{Decision: "d3", Rationale: "r", Timestamp: "2026-01-02T03:04:05.678000"}, st.Decisions[0])
	equal(t, "last", nova.Decision{Decision: "last", Timestamp: "2026-01-01T00:00:00.000000"}, st.Decisions[9])
}

// NOVA-24, NOVA-29
func TestArtifactsArePathsAndNoContent(t *testing.T) {
	t.Parallel()
	h := begun(t)
	h.add(nova.AddArtifact("a", "x"))
	h.add(nova.AddArtifact("b", "y"))
	st := h.add(nova.AddArtifact("a", "z"))
	equal(t, "artifacts", []nova.Artifact{{Name: "a", Path: "z"}, {Name: "b", Path: "y"}}, st.Artifacts)
	for _, path := range []string{"two\nlines", strings.Repeat("x", 5000)} {
		if _, err := nova.AddArtifact("a", path); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("path of %d bytes: %v", len(path), err)
		}
	}
	if line, lost := (nova.Dialect{}).Write(core.Item{Kind: core.ItemMessage, Role: core.RoleUser}); line != nil || len(lost) == 0 {
		t.Errorf("a message became %s, lost %v", line, lost)
	}
}

// NOVA-25, NOVA-26
func TestNegativeNumbersCountNothingButATask(t *testing.T) {
	t.Parallel()
	h := begun(t)
	h.add(nova.AddTokens(7))
	h.add(nova.AddTokens(-5))
	h.add(nova.AddTurns(2))
	st := h.add(nova.AddTurns(-1))
	if st.TokensUsed != 7 || st.Metrics.TotalTokens != 7 || st.TurnCount != 2 || st.Metrics.TaskCount != 2 {
		t.Errorf("%+v", st)
	}
	h.add(nova.AddTokens(1<<63 - 1))
	if st := h.add(nova.AddTokens(1)); st.TokensUsed != 1<<63-1 {
		t.Errorf("tokens wrapped to %d", st.TokensUsed)
	}
}

// NOVA-21
func TestShouldPruneIsStrictAndOnce(t *testing.T) {
	t.Parallel()
	ds := make([]nova.Decision, 11)
	l := nova.DefaultLimits()
	for _, c := range []struct {
		st   nova.State
		want bool
	}{
		{nova.State{Decisions: ds[:10], TokensUsed: 150_000}, false},
		{nova.State{Decisions: ds}, true},
		{nova.State{TokensUsed: 150_001}, true},
		{nova.State{Decisions: ds, TokensUsed: 150_001, Pruned: true}, false},
	} {
		if got := c.st.ShouldPrune(l); got != c.want {
			t.Errorf("%d decisions, %d tokens, pruned %v: %v", len(c.st.Decisions), c.st.TokensUsed, c.st.Pruned, got)
		}
	}
	if !(nova.State{TokensUsed: 2}).ShouldPrune(nova.Limits{Decisions: 10, Tokens: 1}) {
		t.Error("the limits are not the caller's")
	}
}

// NOVA-22
func TestCompressKeepsTheLastDecisions(t *testing.T) {
	t.Parallel()
	h := begun(t)
	for i := range 5 {
		h.add(nova.AddDecision(fmt.Sprint("d", i), "", ""))
	}
	h.add(nova.AddArtifact("a", "x"))
	h.add(nova.AddTokens(100))
	st := h.add(nova.Compress(nova.Limits{Decisions: 2, Tokens: 100}, false))
	if len(st.Decisions) != 2 || st.Decisions[1].Decision != "d4" || len(st.Artifacts) != 1 || st.Metrics.DecisionCount != 0 ||
		!st.Pruned || st.LastPrunedAt != "2026-01-02T03:04:05.678000" || st.TokensUsed != 100 {
		t.Errorf("%+v", st)
	}
	st = h.add(nova.Compress(nova.Limits{Decisions: 0, Tokens: 99}, false))
	if len(st.Decisions) != 0 || len(st.Artifacts) != 0 {
		t.Errorf("compressed to nothing it has %+v", st)
	}
}

// NOVA-10, NOVA-11, NOVA-12
func TestTaskIsDecisionTurnAndCompression(t *testing.T) {
	t.Parallel()
	h := begun(t)
	st := h.add(nova.Task(nil, nova.DefaultLimits()))
	if st.TurnCount != 1 || st.Metrics.TaskCount != 1 || len(st.Decisions) != 0 || st.Pruned {
		t.Errorf("%+v", st)
	}
	h.add(nova.AddTokens(150_001))
	st = h.add(nova.Task(&nova.Decision{Decision: "D"}, nova.DefaultLimits())) // a missing rationale is ""
	if st.TurnCount != 2 || len(st.Decisions) != 1 || !st.Pruned || st.Metrics.DecisionCount != 0 {
		t.Errorf("%+v", st)
	}
}

// NOVA-13, NOVA-14
func TestContextIsWhatRunTaskReturns(t *testing.T) {
	t.Parallel()
	h := begun(t)
	equal(t, "text", "Session ID: "+sid+"\nModel: claude-sonnet-4-5-20250929\nTurns: 0", h.state().Text())
	h.add(nova.Update([]byte(`{"plan_summary":"P"}`)))
	h.add(nova.AddDecision("D1", "", ""))
	st := h.add(nova.AddDecision("D2", "", ""))
	equal(t, "text", "Session ID: "+sid+"\nModel: claude-sonnet-4-5-20250929\nTurns: 0\nPlan: P\nRecent decision: D2", st.Text())
	raw, err := nova.Dialect{}.Context(h.es, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got["session_id"] != sid || got["resume_from_session"] != sid || got["context"] != st.Text() || got["model"] != st.Model || got["state"] == nil || len(got) != 5 {
		t.Errorf("%s", raw)
	}
	if _, err := (nova.Dialect{}).Context(h.es, core.LeafAt("nowhere")); !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
}

// NOVA-16, NOVA-17, NOVA-36
func TestForkInheritsAndIsIndependent(t *testing.T) {
	t.Parallel()
	h := opened(t, file)
	h.add(nova.Compress(nova.Limits{Decisions: 10, Tokens: 10}, false))
	h.add(nova.Update([]byte(`{"current_plan":"P"}`)))
	parent := h.state()
	child := parent.Child("child-0001", now)
	want := nova.State{
		SessionID: "child-0001", CreatedAt: "2026-01-02T03:04:05.678000", LastUpdated: "2026-01-02T03:04:05.678000", Model: "m-1",
		AgentName: "impl", CurrentPlan: "P", Decisions: parent.Decisions, Artifacts: parent.Artifacts, TokensUsed: 5, Tags: parent.Tags, ForkParentID: sid,
	}
	equal(t, "child", string(want.JSON()), string(child.JSON()))
	before := string(parent.JSON())
	child.Decisions[0].Decision, child.Artifacts[0].Path, child.Tags[0] = "x", "x", "x"
	equal(t, "parent", before, string(h.state().JSON()))
	if st := h.add(nova.Fork("child-0001")); st.ForkCount != 1 || st.TurnCount != 2 {
		t.Errorf("%+v", st)
	}
}

// NOVA-37
func TestUpdateNamesWhatItCannotSet(t *testing.T) {
	t.Parallel()
	h := opened(t, file)
	st := h.add(nova.Update([]byte(`{"plan_summary": "P", "agent_name":null, "model":"m-2","tags":["t","t"]}`)))
	if st.CurrentPlan != "P" || st.AgentName != "" || st.Model != "m-2" || !cmp.Equal(st.Tags, []string{"t"}) || st.LastUpdated != "2026-01-02T03:04:05.678000" {
		t.Errorf("%+v", st)
	}
	for _, bad := range []string{`{"tokens_used":1}`, `{"plan":"x"}`, `{}`, `[]`, ``, `{"model":""}`, `{"model":null}`, `{"tags":[1]}`, `{"current_plan":1}`} {
		if _, err := nova.Update([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := nova.Update([]byte(`{"session_id":"x"}`)); err == nil || !strings.Contains(err.Error(), `"session_id"`) {
		t.Errorf("the error does not name the field: %v", err)
	}
}

// NOVA-27
func TestToDictLeavesOutWhatIsAbsent(t *testing.T) {
	t.Parallel()
	st := opened(t, file).state()
	equal(t, "to_dict", file, string(st.JSON()))
	equal(t, "without tags", strings.Replace(file, `"tags":["pr","feature"],`, "", 1), string(st.JSONWithoutTags()))
	known := opened(t, strings.Replace(file, `"pruned":false`, `"pruned":false,"last_pruned_at":null,"later":{"x": 1}`, 1)).state()
	equal(t, "unknown members stay, nulls go", strings.Replace(file, `"pruned":false`, `"pruned":false,"later":{"x":1}`, 1), string(known.JSON()))
}

// NOVA-28
func TestBadFilesAreRefusedByTheFieldsName(t *testing.T) {
	t.Parallel()
	if st, err := nova.Parse([]byte(file)); err != nil || string(st.JSON()) != file {
		t.Errorf("%v, %v", st, err)
	}
	for _, c := range []struct{ old, new, says string }{
		{`"session_id":"` + sid + `",`, "", "session_id"},
		{sid, "../../x/y/z", "session_id"},
		{`"model":"m-1",`, "", "model"},
		{`"model":"m-1"`, `"model":null`, "model"},
		{`"created_at":"2026-01-01T00:00:00.000001",`, "", "created_at"},
		{`"tokens_used":5`, `"tokens_used":"5"`, "tokens_used"},
		{`"turn_count":2`, `"turn_count":-2`, "turn_count"},
		{`"turn_count":2`, `"turn_count":1e400`, "turn_count"},
		{`["pr","feature"]`, `["pr",7]`, "tags[1]"},
		{`["pr","feature"]`, `"pr"`, "tags"},
		{`"decision":"D"`, `"decision":1`, "key_decisions[0].decision"},
		{`[{"decision"`, `[7,{"decision"`, "key_decisions[0]"},
		{`"docs/spec.md"`, `{}`, "latest_artifacts.spec"},
		{`"total_tokens":5`, `"total_tokens":null`, "metrics.total_tokens"},
		{`"pruned":false`, `"pruned":0`, "pruned"},
		{`}`, ``, "JSON"},
		{`impl`, "\xff", "UTF-8"},
	} {
		_, err := nova.Dialect{}.File([]byte(strings.Replace(file, c.old, c.new, 1)))
		if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q for %q: %v", c.new, c.old, err)
		}
	}
	for _, bad := range []string{"", "{}", "[]", "null", file + file} {
		if _, err := (nova.Dialect{}).File([]byte(bad)); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

// NOVA-01
func TestFileComesBackByteForByte(t *testing.T) {
	t.Parallel()
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, []byte(file), "", "  ")
	for _, text := range []string{file, pretty.String(), strings.ReplaceAll(file, `":`, `": `), "  " + file + " ", strings.ReplaceAll(pretty.String(), "\n", "\r\n")} {
		f, err := nova.Dialect{}.File([]byte(text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		// Through the log: lines are read again one by one.
		h, err := nova.Dialect{}.Header(f.Header.Line)
		if err != nil {
			t.Fatal(err)
		}
		var es []core.Entry
		for _, e := range f.Entries {
			again, err := nova.Dialect{}.Entry(e.Line)
			if err != nil {
				t.Fatal(err)
			}
			es = append(es, again)
		}
		equal(t, "file", text+"\n", string(core.Lines(nova.Dialect{}.Layout(h, es))))
		if !f.Exact {
			t.Error("it is not exact")
		}
		equal(t, "parents", []string{"0f0e0d0c-aaaa-4bbb-8ccc-000000000000"}, h.Parents)
	}
	if f, _ := (nova.Dialect{}).File([]byte(file)); f.Exact {
		t.Error("a file without a newline at its end is exact")
	}
	h := opened(t, pretty.String())
	st := h.add(nova.AddTurns(1))
	equal(t, "after a change", string(st.JSON())+"\n", string(core.Lines(nova.Dialect{}.Layout(h.h, h.es))))
	dir, base := nova.Dialect{}.FileName(h.h)
	equal(t, "name", "/"+sid+".json", dir+"/"+base)
}

func TestFileThatGrewIsTheSameSession(t *testing.T) {
	t.Parallel()
	a, b := opened(t, file), opened(t, strings.Replace(file, `"turn_count":2`, `"turn_count":3`, 1))
	if !bytes.Equal(a.h.Line, b.h.Line) || !bytes.Equal(a.es[0].Line, b.es[0].Line) || a.es[1].ID == b.es[1].ID {
		t.Error("another header, another beginning or the same state")
	}
	a.es = append(a.es, b.es[1])
	if a.state().TurnCount != 3 {
		t.Error("the later file does not count")
	}
}

func TestBadLineInTheLogChangesNothing(t *testing.T) {
	t.Parallel()
	h := opened(t, file)
	for _, line := range []string{`{"type":"tokens","added":"x"}`, `{"type":"state","state":{}}`, `{"type":"fork"}`, `{"type":"else"}`, `{}`} {
		e, err := nova.Dialect{}.Entry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		h.es = append(h.es, e)
	}
	equal(t, "state", file, string(h.state().JSON()))
	if _, err := (nova.Dialect{}).Fill([]byte(`{"type":"tokens","added":"x"}`), core.Fields{}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("Fill lets a bad change in: %v", err)
	}
	other, err := nova.New("other-session", now, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	h.add(nova.Whole(other))
	equal(t, "another session's state", file, string(h.state().JSON()))
}

// NOVA-34
func TestListingsShowTagsAndInfoTheState(t *testing.T) {
	t.Parallel()
	h := opened(t, file)
	h.add(nova.Dialect{}.NewName("a name"), nil)
	s := nova.Dialect{}.Summary(h.h, h.es)
	equal(t, "summary", core.Summary{
		Name: "a name", First: "D", Messages: 2, Created: "2026-01-01T00:00:00.000Z", Modified: "2026-01-01T00:00:00.000Z",
		Usage: core.Usage{Input: 5}, Tags: []string{"pr", "feature"},
	}, s)
	info, err := nova.Dialect{}.Info(h.h, h.es, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "own", file, string(info.Own))
	equal(t, "types", map[string]int{"created": 1, "state": 1, "name": 1}, info.Types)
}

func TestAnotherAgentHearsOfPlanAndDecisions(t *testing.T) {
	t.Parallel()
	h := opened(t, file)
	h.add(nova.AddDecision("go on", "why not", ""))
	var texts []string
	for _, e := range h.es {
		for _, it := range (nova.Dialect{}).Read(e) {
			for _, b := range it.Blocks {
				texts = append(texts, b.Text)
			}
		}
	}
	equal(t, "notes", []string{h.stateBefore().Text(), "Decision: go on\nRationale: why not"}, texts)
}

func (h *history) stateBefore() nova.State { return nova.Fold(h.h, h.es[:2]) }

func TestDetectKnowsNovaAlone(t *testing.T) {
	t.Parallel()
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, []byte(file), "", "  ")
	for _, data := range []string{file, pretty.String()} {
		if d, err := dialect.Detect([]byte(data)); err != nil || d.Name() != "nova" {
			t.Errorf("%v, %v", d, err)
		}
	}
	for _, data := range []string{`{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}`, `{"session_id":"x"}`, "", "{"} {
		if (nova.Dialect{}).Detect([]byte(data)) {
			t.Errorf("%q is taken for Nova's", data)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("{\n" + file[1:]))
	f.Add([]byte(`{"type":"task","decision":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := nova.Dialect{}
		d.Detect(data)
		if e, err := d.Entry(data); err == nil {
			d.Read(e)
			d.Layout(core.Header{ID: sid}, []core.Entry{e})
		}
		_, _ = d.Fill(data, core.Fields{ID: "x", Time: now})
		got, err := d.File(data)
		if err != nil {
			return
		}
		out := core.Lines(d.Layout(got.Header, got.Entries))
		if want := append(bytes.TrimSuffix(bytes.Clone(data), []byte("\n")), '\n'); !bytes.Equal(out, want) {
			t.Errorf("%q came back as %q", want, out)
		}
		st := nova.Fold(got.Header, got.Entries)
		again, err := nova.Parse(st.JSON())
		if err != nil || !bytes.Equal(again.JSON(), st.JSON()) {
			t.Errorf("%s reads as %s, %v", st.JSON(), again.JSON(), err)
		}
	})
}
