package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

const operatorHeader = `{"type":"session","version":3,"id":"operator-one","timestamp":1767323045.5,"cwd":"/home/dev/x"}`

// said returns an Operator message.
func said(id, parent, role, text string) string {
	p := ""
	if parent != "" {
		p = `,"parent_id":"` + parent + `"`
	}
	return `{"id":"` + id + `"` + p + `,"timestamp":1767323046.5,"type":"message","message":{"role":"` + role + `","contents":[{"type":"text","content":"` + text + `"}]}}`
}

func TestCreateWithLinesIsOneRecordAndIdempotent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	whole := session.New{ID: "session-one", Header: []byte(header), Lines: [][]byte{[]byte(message("a", "", "one")), []byte(message("b", "a", "two"))}, Key: "k"}
	made, err := n.CreateWhole(t.Context(), whole)
	if err != nil || made.ID != "session-one" || made.Cursor.Seq != 1 {
		t.Fatalf("made %+v, %v", made, err)
	}
	if got, want := read2(t, n, "session-one", false), file(header, message("a", "", "one"), message("b", "a", "two")); got != want {
		t.Errorf("it is\n%s", got)
	}
	if again, err := n.CreateWhole(t.Context(), whole); err != nil || again != made {
		t.Errorf("retry: %+v, %v", again, err)
	}
	whole.Key = ""
	if _, err := n.CreateWhole(t.Context(), whole); !errors.Is(err, core.ErrExists) {
		t.Errorf("without the key: %v", err)
	}
	for name, c := range map[string]struct {
		body, dialect string
		line          int
	}{
		"an orphan":       {strings.Replace(header, "one", "two", 1) + "\n\n" + message("a", "nowhere", "x"), "", 3},
		"a line twice":    {strings.Replace(header, "one", "two", 1) + "\n" + message("a", "", "x") + "\n" + message("a", "", "x"), "", 0},
		"no header":       {message("a", "", "x"), "", 0},
		"nothing":         {"\n", "", 0},
		"another agent's": {header, "operator", 0},
		"nobody's":        {header, "nobody", 0},
	} {
		res, text := n.request(t, http.MethodPost, "/v1/sessions?dialect="+c.dialect, c.body, "Content-Type", "application/x-ndjson; charset=utf-8")
		if d := mustJSON[api.Detail](t, text); res.StatusCode != 400 || d.Line != c.line {
			t.Errorf("%s: %d %s", name, res.StatusCode, text)
		}
	}
}

func TestCreateAndForkHonorIdempotencyKey(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	for _, c := range []struct{ path, body string }{
		{"/v1/sessions", `{"cwd":"/w"}`},
		{"/v1/sessions", `{"cwd":"/w","id":"named-session"}`},
		{"/v1/sessions/session-one/fork", `{}`},
		{"/v1/sessions/session-one/fork", `{"whole":true,"id":"named-fork"}`},
	} {
		res, first := n.request(t, http.MethodPost, c.path, c.body, "Idempotency-Key", "key "+c.path+c.body)
		if res.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", c.path, c.body, res.StatusCode, first)
		}
		if res, again := n.request(t, http.MethodPost, c.path, c.body, "Idempotency-Key", "key "+c.path+c.body); res.StatusCode != http.StatusCreated || again != first {
			t.Errorf("%s %s again: %d %s, want %s", c.path, c.body, res.StatusCode, again, first)
		}
		if _, other := n.request(t, http.MethodPost, c.path, c.body, "Idempotency-Key", "another"); other == first {
			t.Errorf("%s %s with another key is the same session", c.path, c.body)
		}
	}
}

// The answer does not depend on what was appended to a source since.
func TestCreateRefusesAKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	n.importText(t, strings.Replace(file(header, message("c", "", "another")), "session-one", "session-two", 1))
	if _, err := n.Append(t.Context(), "session-one", []byte(message("s", "a", "aside")), client.AppendOptions{Head: "side"}); err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(file(header, message("a", "", "one"), message("b", "a", "two")), "session-one", "session-new", 1)
	const create, merge, fork, forkTwo = "/v1/sessions", "/v1/sessions/session-one/merge", "/v1/sessions/session-one/fork", "/v1/sessions/session-two/fork"
	for i, c := range []struct{ path, body, otherPath, other string }{
		{create, `{"cwd":"/w"}`, create, `{"cwd":"/other"}`},
		{create, `{"cwd":"/w"}`, create, `{"cwd":"/w","dialect":"operator"}`},
		{create, `{"cwd":"/w"}`, create, `{"cwd":"/w","parents":[{"session":"session-one"}]}`},
		{create, `{"cwd":"/w"}`, fork, `{"kind":"detach"}`},
		{create, `{"cwd":"/w","parents":[{"session":"session-one"}]}`, create, `{"cwd":"/w"}`},
		{create, `{"cwd":"/w","parents":[{"session":"session-one","entry":"a"}]}`, create, `{"cwd":"/w","parents":[{"session":"session-one","entry":"s"}]}`},
		{create, `{"cwd":"/w","parents":[{"session":"session-one","kind":"fork"}]}`, fork, `{}`},
		{create, `{"cwd":"/w","parent":"/a.jsonl"}`, create, `{"cwd":"/w","parent":"/b.jsonl"}`},
		{merge, `{"with":"session-one"}`, merge, `{"with":"session-one","withHead":"side"}`},
		{merge, `{"with":"session-two"}`, merge, `{"with":"session-two","head":"side"}`},
		{fork, `{}`, fork, `{"kind":"detach"}`},
		{fork, `{}`, fork, `{"cwd":"/other"}`},
		{fork, `{}`, fork, `{"kind":"branch"}`},
		{fork, `{}`, fork, `{"whole":true}`},
		{fork, `{"whole":true}`, fork, `{"at":"a"}`},
		{fork, `{"at":"a"}`, fork, `{"at":"null"}`},
		{fork, `{"at":"a","kind":"detach"}`, fork, `{"at":"null","kind":"detach"}`},
		{fork, `{"kind":"detach"}`, forkTwo, `{"kind":"detach"}`},
		{fork, `{"kind":"detach"}`, create, `{"cwd":"/w"}`},
		{create, whole, create, strings.Replace(whole, `"id":"b"`, `"id":"c"`, 1)},
	} {
		post := func(path, body string) (int, string) {
			kind := "application/json"
			if strings.Contains(body, "\n") {
				kind = ndjson
			}
			res, answer := n.request(t, http.MethodPost, path, body, "Idempotency-Key", fmt.Sprint("key ", i), "Content-Type", kind)
			return res.StatusCode, answer
		}
		status, first := post(c.path, c.body)
		if status != http.StatusCreated {
			t.Fatalf("%s %s: %d %s", c.path, c.body, status, first)
		}
		for _, session := range []string{"session-one", "session-two"} {
			if _, err := n.Append(t.Context(), session, []byte(`{"type":"message","message":{"role":"user","content":"more"}}`), client.AppendOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if status, answer := post(c.otherPath, c.other); status != http.StatusConflict || !strings.Contains(answer, `"code":"exists"`) {
			t.Errorf("%s %s after %s: %d %s", c.otherPath, c.other, c.body, status, answer)
		}
		if status, again := post(c.path, c.body); status != http.StatusCreated || again != first {
			t.Errorf("%s %s again: %d %s, want %s", c.path, c.body, status, again, first)
		}
	}
}

// A variable of the caller that is not set must not fork the end of main.
func TestForkRefusesAnEmptyEntry(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	for body, want := range map[string]int{`{"at":""}`: http.StatusBadRequest, `{"at":5}`: http.StatusBadRequest, `{"at":"a"}`: http.StatusCreated} {
		if res, answer := n.request(t, http.MethodPost, "/v1/sessions/session-one/fork", body); res.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", body, res.StatusCode, answer, want)
		}
	}
}

// A variable of the caller that is not set must not make another session than the
// caller names, nor clear a label or a name.
func TestEmptyIDsAndMissingTextsAreRefused(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{"", `{"id":""}`, http.StatusBadRequest},
		{"/session-one/fork", `{"id":""}`, http.StatusBadRequest},
		{"/session-one/fork", `{"id":"empty-fork"}`, http.StatusCreated},
		{"/session-one/merge", `{"with":"empty-fork","id":""}`, http.StatusBadRequest},
		{"/session-one/merge", `{"with":"empty-fork","id":"empty-merge"}`, http.StatusCreated},
		{"/session-one/labels", `{"target":"a"}`, http.StatusBadRequest},
		{"/session-one/labels", `{"target":"a","label":null}`, http.StatusBadRequest},
		{"/session-one/labels", `{"target":"a","label":""}`, http.StatusOK},
		{"/session-one/name", `{}`, http.StatusBadRequest},
		{"/session-one/name", `{"name":""}`, http.StatusOK},
	} {
		if res, answer := n.request(t, http.MethodPost, "/v1/sessions"+c.path, c.body); res.StatusCode != c.want {
			t.Errorf("%s %s: %d %s, want %d", c.path, c.body, res.StatusCode, answer, c.want)
		}
	}
}

// OP-23, OMP-21, PI-32
func TestBranchWithASummary(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two")))
	n.importText(t, file(operatorHeader, said("a", "", "user", "one"), said("b", "a", "assistant", "two")))
	for id, c := range map[string]struct{ from, fromRoot string }{
		"session-one":  {`"fromId":"b"`, `"fromId":"root"`}, // pi names the entry that was left
		"operator-one": {`"from_id":"a"`, `"from_id":"root"`},
	} {
		r := api.BranchRequest{At: core.LeafAt("a"), Summary: "tried two", Details: json.RawMessage(`{"readFiles":[]}`)}
		done, err := n.Branch(t.Context(), id, r, client.AppendOptions{Key: "k"})
		if err != nil || len(done.IDs) != 1 {
			t.Fatalf("%s: %+v, %v", id, done, err)
		}
		if again, err := n.Branch(t.Context(), id, r, client.AppendOptions{Key: "k"}); err != nil || again.IDs[0] != done.IDs[0] || again.Cursor != done.Cursor {
			t.Errorf("%s: retry: %+v, %v", id, again, err)
		}
		kids, err := n.Children(t.Context(), id, "a")
		if err != nil || len(kids) != 2 || !strings.Contains(string(kids[1]), c.from) || !strings.Contains(string(kids[1]), "tried two") {
			t.Errorf("%s: children are %s, %v", id, kids, err)
		}
		info, err := n.Info(t.Context(), id)
		if err != nil || info.Log.Heads["main"].Leaf != core.LeafAt(done.IDs[0]) {
			t.Errorf("%s: main points to %v, %v", id, info.Log.Heads["main"].Leaf, err)
		}
		if _, err := n.Branch(t.Context(), id, api.BranchRequest{At: core.NoLeaf, Summary: "all of it"}, client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		roots, err := n.Children(t.Context(), id, "")
		if err != nil || len(roots) != 2 || !strings.Contains(string(roots[1]), c.fromRoot) {
			t.Errorf("%s: roots are %s, %v", id, roots, err)
		}
		for _, r := range []api.BranchRequest{{At: core.LeafAt("nowhere"), Summary: "x"}, {At: core.LeafAt("nowhere")}} {
			if _, err := n.Branch(t.Context(), id, r, client.AppendOptions{}); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%s: %+v: %v", id, r, err)
			}
		}
		if _, err := n.Branch(t.Context(), id, api.BranchRequest{Summary: "x"}, client.AppendOptions{}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: a branch from a missing entry: %v", id, err)
		}
	}
	if _, err := n.Children(t.Context(), "session-one", "nowhere"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("children of a missing entry: %v", err)
	}
}

// OP-22: Operator has an entry for a branch; for pi the node moves the head.
func TestBranchWithoutSummaryFollowsDialect(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two")))
	n.importText(t, file(operatorHeader, said("a", "", "user", "one"), said("b", "a", "assistant", "two")))
	for id, entries := range map[string]int{"session-one": 0, "operator-one": 1} {
		done, err := n.Branch(t.Context(), id, api.BranchRequest{At: core.LeafAt("a")}, client.AppendOptions{Key: "k"})
		if err != nil || len(done.IDs) != entries {
			t.Fatalf("%s: %+v, %v", id, done, err)
		}
		info, err := n.Info(t.Context(), id)
		if err != nil || info.Log.Heads["main"].Leaf != core.LeafAt("a") {
			t.Errorf("%s: main points to %v, %v", id, info.Log.Heads["main"].Leaf, err)
		}
	}
	if got := read2(t, n, "operator-one", false); !strings.Contains(got, `"type":"leaf"`) {
		t.Errorf("the file does not record the position\n%s", got)
	}
}

// OP-20, OP-24: if an agent takes the last line of a file as its position, the file
// ends at the head. If the head is before all entries, the file has the agent's entry
// for that, if it has one.
func TestFileRecordsHeadPosition(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	one, two := said("a", "", "user", "one"), said("b", "a", "assistant", "two")
	n.importText(t, file(operatorHeader, one, two))
	for i, c := range []struct {
		leaf core.Leaf
		want string
	}{
		{core.NoLeaf, file(operatorHeader, one, two)}, // and a leaf entry
		{core.LeafAt("a"), file(operatorHeader, two, one)},
		{core.LeafAt("b"), file(operatorHeader, one, two)},
	} {
		if _, err := n.Move(t.Context(), "operator-one", "main", api.MoveRequest{Leaf: c.leaf}, ""); err != nil {
			t.Fatal(err)
		}
		r, _, err := n.File(t.Context(), "operator-one", "")
		text := read(t, r, err)
		if added, ok := strings.CutPrefix(text, c.want); !ok || (added != "") != c.leaf.IsNone() || strings.Count(added, "\n") > 1 {
			t.Errorf("at %v the file is\n%s", c.leaf, text)
		}
		again, _, err := n.File(t.Context(), "operator-one", "")
		if read(t, again, err) != text {
			t.Error("a second export differs")
		}
		copied := fmt.Sprint("operator-copy", i)
		n.importText(t, strings.Replace(text, "operator-one", copied, 1))
		info, err := n.Info(t.Context(), copied)
		if err != nil || info.Log.Heads["main"].Leaf != c.leaf {
			t.Errorf("after import main points to %v, %v; want %v", info.Log.Heads["main"].Leaf, err, c.leaf)
		}
	}
}

// OP-16
func TestMessagesAreAmended(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(operatorHeader, said("a", "", "user", "one")))
	n.importText(t, file(header, message("a", "", "one")))
	if _, err := n.SetMeta(t.Context(), "operator-one", "a", json.RawMessage(`{"channel_message_id":"c1"}`), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := n.React(t.Context(), "operator-one", api.ReactionRequest{Message: "c1", Emoji: "👍"}, client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := read2(t, n, "operator-one", false); strings.Count(got, "👍") != 1 || !strings.Contains(got, `"channel_message_id":"c1"`) {
		t.Errorf("it is\n%s", got)
	}
	done, err := n.Amend(t.Context(), "session-one", "a", []byte(message("a", "", "changed")), client.AppendOptions{})
	if err != nil || done.Cursor.Seq != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got, want := read2(t, n, "session-one", false), file(header, message("a", "", "changed")); got != want {
		t.Errorf("it is\n%s", got)
	}
	if _, err := n.Amend(t.Context(), "session-one", "a", []byte(message("a", "", "changed")), client.AppendOptions{After: "1-0123456789abcdef"}); err != nil {
		t.Errorf("content that is stored already: %v", err)
	}
	if _, err := n.Amend(t.Context(), "session-one", "a", []byte(message("a", "", "again")), client.AppendOptions{After: done.Cursor.String()}); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"too late":          {second(n.Amend(t.Context(), "session-one", "a", []byte(message("a", "", "x")), client.AppendOptions{After: done.Cursor.String()})), core.ErrConflict},
		"no cursor":         {second(n.Amend(t.Context(), "session-one", "a", []byte(message("a", "", "x")), client.AppendOptions{After: "x"})), core.ErrInvalid},
		"another id":        {second(n.Amend(t.Context(), "session-one", "a", []byte(message("b", "", "x")), client.AppendOptions{})), core.ErrInvalid},
		"an entry nowhere":  {second(n.Amend(t.Context(), "session-one", "b", []byte(message("b", "", "x")), client.AppendOptions{})), core.ErrNotFound},
		"two lines":         {second(n.Amend(t.Context(), "session-one", "a", []byte("{}\n{}"), client.AppendOptions{})), core.ErrInvalid},
		"not the holder":    {second(n.Amend(t.Context(), "session-one", "a", []byte(message("a", "", "x")), client.AppendOptions{Writer: "w"})), core.ErrFenced},
		"meta in pi":        {second(n.SetMeta(t.Context(), "session-one", "a", json.RawMessage(`{}`), client.AppendOptions{})), core.ErrInvalid},
		"meta that is none": {second(n.SetMeta(t.Context(), "operator-one", "a", json.RawMessage(`[]`), client.AppendOptions{})), core.ErrInvalid},
		"meta of nobody":    {second(n.SetMeta(t.Context(), "operator-one", "z", json.RawMessage(`{}`), client.AppendOptions{})), core.ErrNotFound},
		"no such message":   {second(n.React(t.Context(), "operator-one", api.ReactionRequest{Message: "c2", Emoji: "x"}, client.AppendOptions{})), core.ErrNotFound},
		"no reaction":       {second(n.React(t.Context(), "operator-one", api.ReactionRequest{Message: "c1"}, client.AppendOptions{})), core.ErrInvalid},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// OP-35, OP-28, PI-40
func TestWholeForkAndInvalidForks(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two"), message("c", "a", "three")))
	f, err := n.Fork(t.Context(), "session-one", api.ForkRequest{Whole: true, CWD: "/elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(read2(t, n, string(f.ID), false), "\n")
	if got, want := strings.Join(lines[1:], ""), file(message("a", "", "one"), message("b", "a", "two"), message("c", "a", "three")); got != want || !strings.Contains(lines[0], `"cwd":"/elsewhere"`) {
		t.Errorf("the fork is\n%s", lines)
	}
	for _, r := range []api.ForkRequest{{Whole: true, At: "a"}, {Whole: true, Branched: true}, {ID: "../x"}} {
		if _, err := n.Fork(t.Context(), "session-one", r); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := n.Label(t.Context(), "session-one", api.LabelRequest{Target: "b", Label: "here"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, branched := range []bool{false, true} {
		f, err := n.Fork(t.Context(), "session-one", api.ForkRequest{At: "b", Branched: branched})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := n.Info(t.Context(), string(f.ID)); err != nil || (info.Labels["b"] == "here") != branched || (*info.LeafID == "b") == branched {
			t.Errorf("branched %v: %+v, %v", branched, info.Info, err)
		}
	}
	none, err := n.Fork(t.Context(), "session-one", api.ForkRequest{At: "null"})
	if err != nil || strings.Count(read2(t, n, string(none.ID), false), "\n") != 1 {
		t.Errorf("a fork before all entries: %+v, %v", none, err)
	}
}

// OP-10
func TestAppendRejectsEntriesThatAgentCannotRead(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(operatorHeader, said("a", "", "user", "one")))
	_, err := n.Append(t.Context(), "operator-one", []byte(said("b", "a", "user", "two")+"\n"+`{"type":"thinking_level_change","thinking_level":"very high"}`), client.AppendOptions{})
	if d := detail(t, err); d.Line != 2 || !errors.Is(err, core.ErrInvalid) || !strings.Contains(d.Detail, "one of off, minimal") {
		t.Errorf("%+v", d)
	}
}

// Notes on a message with an image do not change the image, and may contain images.
func TestNotesDoNotChangeImages(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	picture := `{"type":"image","data":"` + strings.Repeat("aW1h", 500) + `"}`
	line := strings.Replace(said("a", "", "user", "one"), `"one"`, `"one","x":[`+picture+`]`, 1)
	n.importText(t, file(operatorHeader, line))
	meta := `{"channel_message_id":"c1","attachments":[{"path":"p","x":` + picture + `},{"path":"q","y":{"type":"image","data":"blob:own"}}]}`
	if _, err := n.SetMeta(t.Context(), "operator-one", "a", json.RawMessage(meta), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.React(t.Context(), "operator-one", api.ReactionRequest{Message: "c1", Emoji: "+1"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	want := file(operatorHeader, strings.TrimSuffix(line, "}")+`,"meta":`+strings.TrimSuffix(meta, "}")+`,"reactions":["+1"]}}`)
	if got := read2(t, n, "operator-one", false); got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}

// A branch fails if the head moved after the caller saw it.
func TestBranchFailsIfHeadMoved(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for id, text := range map[string]string{
		"operator-one": file(operatorHeader, said("a", "", "user", "one"), said("b", "a", "assistant", "two")),
		"session-one":  file(header, message("a", "", "one"), message("b", "a", "two")),
	} {
		n.importText(t, text)
		seen := info(t, n, id).Log.Cursor.String()
		if _, err := n.Name(t.Context(), id, api.NameRequest{Name: "moved on"}, client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		moved := info(t, n, id)
		_, err := n.Branch(t.Context(), id, api.BranchRequest{At: core.LeafAt("a")}, client.AppendOptions{After: seen})
		if now := info(t, n, id); !errors.Is(err, core.ErrConflict) || now.Log.Cursor != moved.Log.Cursor {
			t.Errorf("%s: %v, it is at %s, want %s", id, err, now.Log.Cursor, moved.Log.Cursor)
		}
		if _, err := n.Branch(t.Context(), id, api.BranchRequest{At: core.LeafAt("a")}, client.AppendOptions{After: moved.Log.Cursor.String()}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func info(t *testing.T, n *node, id string) api.Info {
	t.Helper()
	i, err := n.Info(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}
