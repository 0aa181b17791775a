package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/internal/testkit"
)

func related(id string, kind lineage.Kind, parents ...string) lineage.Node {
	n := lineage.Node{ID: core.SessionID(id), Created: "2020-01-02T03:04:05.000Z"}
	n.Kind = kind
	for _, p := range parents {
		n.Parents = append(n.Parents, lineage.Parent{Session: core.SessionID(p), Kind: kind})
	}
	return n
}

// shown is what sessctl lineage shows of nodes.
func shown(t *testing.T, nodes []lineage.Node, args ...string) result {
	t.Helper()
	f := newFake(t)
	f.Has([]string{testID})
	g := lineage.New(nodes).Whole()
	l := api.Lineage{Sessions: g.Nodes(), Edges: g.Edges()}
	if err := g.Validate(); err != nil {
		l.Problem = err.Error()
	}
	f.Mux.HandleFunc("GET /v1/lineage", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") == "jsonl" {
			_, _ = w.Write(lineage.ExportJSONL(nodes))
			return
		}
		_ = json.NewEncoder(w).Encode(l)
	})
	return f.run(append([]string{"lineage"}, args...)...)
}

// FLEET-20
func TestLineageIsDrawnAsATree(t *testing.T) {
	t.Parallel()
	root := related(testID, lineage.Create)
	root.Name = "the \x1b[31mfirst"
	trashed := related("side", lineage.Branch, testID)
	trashed.State = lineage.Deleted
	nodes := []lineage.Node{
		root, related("fork", lineage.Fork, testID), trashed, related("merge", lineage.Merge, "fork", "side"),
		related("alone", lineage.Unknown), related("orphan", lineage.Fork, "gone"),
	}
	want := `01aaaaaaaaaaaaaaaaaaaaaaaa  create  2020-01-02  the ␛[31mfirst
├─ fork  fork  2020-01-02
│  └─ merge  merge  2020-01-02
└─ side  branch  [deleted]  2020-01-02
   └─ merge  merge  (see above)
gone  [missing]
└─ orphan  fork  2020-01-02
`
	got := shown(t, nodes)
	if d := cmp.Diff(want, got.out); d != "" || got.code != 0 {
		t.Errorf("code %d\n%s", got.code, d)
	}
	for _, says := range []string{"1 session has no relatives", "gone, which does not exist"} {
		if !strings.Contains(got.err, says) {
			t.Errorf("stderr lacks %q:\n%s", says, got.err)
		}
	}
	wantResult(t, shown(t, nodes, "--all"), 0, "alone  2020-01-02\n", "does not exist")
	wantResult(t, shown(t, nodes, testID), 0, testID+"  create  <-  2020-01-02", "does not exist")
}

// Sessions that came from each other are drawn, each once.
func TestLineageDrawsCycles(t *testing.T) {
	t.Parallel()
	got := shown(t, []lineage.Node{related("a", lineage.Fork, "b"), related("b", lineage.Fork, "a"), related("c", lineage.Fork, "c")})
	want := `a  fork  2020-01-02
└─ b  fork  2020-01-02
   └─ a  fork  (see above)
c  fork  2020-01-02
└─ c  fork  (see above)
`
	if d := cmp.Diff(want, got.out); d != "" {
		t.Error(d)
	}
	if !strings.Contains(got.err, "came from each other: b -> a -> b") {
		t.Errorf("stderr: %s", got.err)
	}
}

func TestLineageInJSONIsTheNodesAnswer(t *testing.T) {
	t.Parallel()
	got := shown(t, []lineage.Node{related("orphan", lineage.Fork, "gone")}, "-o", "json")
	want := `{"sessions":[{"id":"orphan","kind":"fork","parents":[{"session":"gone","kind":"fork"}],"created":"2020-01-02T03:04:05.000Z","entries":0},` +
		`{"id":"gone","kind":"unknown","entries":0,"state":"missing"}],"edges":[{"from":"gone","to":"orphan","kind":"fork"}],` +
		`"problem":"session orphan came from gone, which does not exist"}` + "\n"
	if d := cmp.Diff(want, got.out); d != "" || got.err != "" {
		t.Errorf("%s\n%s", d, got.err)
	}
}

// RATH-51
func TestLineageIsExportedIntoDirectoriesThatAreMade(t *testing.T) {
	t.Parallel()
	nodes := []lineage.Node{related("one", lineage.Fork, "two")}
	want := string(lineage.ExportJSONL(nodes))
	wantResult(t, shown(t, nodes, "--jsonl"), 0, want, "")
	dir := t.TempDir()
	path := filepath.Join(dir, "not", "yet", "there.jsonl")
	wantResult(t, shown(t, nodes, "--out", path), 0, "there.jsonl", "")
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%v\n%s", err, b)
	}
	empty := filepath.Join(dir, "empty", "none.jsonl")
	wantResult(t, shown(t, nil, "--out", empty), 0, "none.jsonl", "")
	if b, err := os.ReadFile(empty); err != nil || len(b) != 0 {
		t.Errorf("%v, %q", err, b)
	}
	wantResult(t, shown(t, nodes, "--out", empty), cli.ExitConflict, "", "--force")
}

// FLEET-21
func TestMergeSendsArguments(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID, "01bbbbbbbbbbbbbbbbbbbbbbbb"})
	var sent string
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/merge", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent = string(b)
		_ = json.NewEncoder(w).Encode(api.Created{ID: "merged-01", Cursor: core.Cursor{Seq: 1}})
	})
	wantResult(t, f.run("merge", testID+"@side", "01b", "--id", "merged-01", "--cwd", "/w"), 0, "merged-01\n", "")
	if want := `{"with":"01bbbbbbbbbbbbbbbbbbbbbbbb","head":"side","id":"merged-01","cwd":"/w","by":"tester"}`; sent != want {
		t.Errorf("sent %s", sent)
	}
	wantResult(t, f.run("merge", testID, testID+"@a/b"), cli.ExitInvalid, "", "head name")
}

// FLEET-20: a subagent's session, or one that begins with a summary.
func TestNewSendsParents(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID, "01bbbbbbbbbbbbbbbbbbbbbbbb"})
	var sent api.Create
	f.Mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		sent = api.Create{}
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_ = json.NewEncoder(w).Encode(api.Created{ID: "made-0001", Cursor: core.Cursor{Seq: 1}})
	})
	wantResult(t, f.run("new", "--parent", testID, "--parent", "01b", "--kind", "compress"), 0, "made-0001", "")
	want := []api.ParentRef{{Session: testID, Kind: "compress"}, {Session: "01bbbbbbbbbbbbbbbbbbbbbbbb", Kind: "compress"}}
	if !cmp.Equal(sent.Parents, want) || sent.Parent != "" {
		t.Errorf("sent %+v", sent)
	}
	wantResult(t, f.run("new", "--parent", "/any/word"), 0, "made-0001", "")
	if sent.Parent != "/any/word" || sent.Parents != nil {
		t.Errorf("sent %+v", sent)
	}
	wantResult(t, f.run("new", "--kind", "subagent"), cli.ExitUsage, "", "--kind requires --parent")
	wantResult(t, f.run("new", "--parent", "a", "--parent", "b"), cli.ExitUsage, "", "--kind")
}

// FLEET-20: omp's subagents are found by where their files are.
func TestImportOfSubagentSendsParent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var asked string
	f.Mux.HandleFunc("POST /v1/import", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("parent") + " " + r.URL.Query().Get("kind")
		_, _ = io.Copy(io.Discard, r.Body)
		_ = json.NewEncoder(w).Encode(api.Imported{ID: "the-helper", Session: "the-helper", Created: true, Version: "3"})
	})
	dir := filepath.Join(t.TempDir(), "2026-01-02T03-04-05-678Z_the-parent")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	header := `{"type":"session","version":3,"id":"the-helper","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}` + "\n"
	init := `{"type":"session_init","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","task":"help"}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"Helper.jsonl": {header + init, "the-parent subagent"},
		"pis.jsonl":    {header, " "}, // pi has no subagents
	} {
		path := filepath.Join(dir, name)
		testkit.WriteFile(t, path, []byte(c.text))
		wantResult(t, f.run("import", path), 0, "the-helper", "")
		if asked != c.want {
			t.Errorf("%s: asked for %q, want %q", name, asked, c.want)
		}
	}
}
