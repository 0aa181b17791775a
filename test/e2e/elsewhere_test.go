package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// begun has the first lines of a session of each agent, with its ID.
var begun = map[string]string{
	"pi": `{"type":"session","version":3,"id":"went-on-pi","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/ann/lab"}
{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":1}}
`,
	"omp": `{"type":"session","version":3,"id":"went-on-omp","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/ann/lab","title":"t","titleSource":"user"}
{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":1}}
`,
	"operator": `{"type":"session","version":3,"id":"went-on-operator","timestamp":1767323045.5,"cwd":"/home/ann/lab"}
{"id":"aaaaaaaa","timestamp":1767323046.5,"type":"message","message":{"contents":[{"type":"text","content":"one"}],"id":"m","timestamp":1.5,"role":"user"}}
`,
	"openrath": `{"record_type": "header", "schema_version": 1, "id": "5d0e79b8-0000-4000-8000-000000000001", "created_at": "2026-01-02T03:04:05+00:00", "parent_session_ids": [], "lineage_operator": "implicit", "lineage_kind": "unknown", "lineage_extras": [], "sandbox_backend": "local", "sandbox_spec": {"working_dir": "/home/ann/lab"}, "sandbox_handle_id": null}
{"record_type": "chunk", "index": 0, "kind": "user", "payload": {"content": "one"}}
`,
}

// continueFile makes an agent continue the file at path: it adds a message at the leaf by its
// own rules, and returns the former leaf.
func continueFile(t *testing.T, d core.Dialect, path, id, words string) core.Leaf {
	t.Helper()
	f, err := d.File(testkit.ReadFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	at := d.Leaf(f.Entries)
	line, lost := d.Write(item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: words}}})
	if line == nil || len(lost) > 0 {
		t.Fatalf("%s cannot represent the message: %q", d.Name(), lost)
	}
	e, err := d.Fill(line, core.Fields{ID: id, Parent: at, Time: "2026-01-02T04:00:00.000Z", Position: len(f.Entries) + 1})
	if err != nil {
		t.Fatal(err)
	}
	h, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Write(append(e.Line, '\n')); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return at
}

// A worker is a host with its agent's file of one session.
type worker struct {
	*harness.Host
	id   string // of the session
	path string // of the file, once it was resumed
	said string // by the last resume
}

func newWorker(t *testing.T, n *harness.Node, id string) *worker {
	t.Helper()
	w := &worker{Host: harness.NewHost(t, n), id: id}
	if err := os.MkdirAll(w.Path("lab"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// resume resumes the session at the path where this host's agent looks for it.
func (w *worker) resume(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"resume", "--take-over", "--cwd", w.Path("lab"), w.id}, args...)
	would := w.Do(t, append(args, "--dry-run")...)
	w.said = w.Do(t, args...)
	path, _, _ := strings.Cut(w.said, "\n")
	if !strings.HasPrefix(would, path+"\n") {
		t.Errorf("the dry run printed %s, the resume %s", would, w.said)
	}
	if w.path != "" && w.path != path {
		t.Errorf("the file was %s and is %s now", w.path, path)
	}
	w.path = path
}

// Two hosts continue one session, one of them while it cannot reach the log. Both
// histories are kept, each on its head. The host that returns gets a message that says
// so, and each host continues its own head.
func TestDivergedHostsKeepBothHistories(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	for _, name := range []string{"pi", "omp", "operator"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := dialect.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			id := "went-on-" + name
			ann, bob := newWorker(t, node, id), newWorker(t, node, id)
			made := ann.Path("made.jsonl")
			testkit.WriteFile(t, made, []byte(begun[name]))
			ann.Do(t, "import", made)

			ann.resume(t)
			want(t, "ann", continueFile(t, d, ann.path, "ann00001", "ann was here"), "aaaaaaaa")
			ann.Do(t, "import", ann.path)
			bob.resume(t)
			want(t, "bob", continueFile(t, d, bob.path, "bob00001", "bob was here"), "ann00001")
			bob.Do(t, "import", bob.path)
			// The header of each file names the directory where it continues. The
			// header in the log does not change.
			for _, w := range []*worker{ann, bob} {
				if f, err := d.File(testkit.ReadFile(t, w.path)); err != nil || f.Header.CWD != w.Path("lab") {
					t.Errorf("the file's directory is %q, %v", f.Header.CWD, err)
				}
			}
			if out := ann.Do(t, "export", id); !strings.HasPrefix(out, strings.SplitAfter(begun[name], "\n")[0]) {
				t.Errorf("the header in the log has changed:\n%s", out)
			}

			// Ann returns with two lines of her own.
			continueFile(t, d, ann.path, "ann00002", "ann goes on")
			want(t, "ann", continueFile(t, d, ann.path, "ann00003", "and on"), "ann00002")
			ann.resume(t)
			for _, part := range []string{
				"taken over from " + name, "had 2 lines (4 to 5) that the log lacked: the session continued without them",
				"to continue with them instead: sessctl resume --head main-",
			} {
				if !strings.Contains(ann.said, part) {
					t.Errorf("ann's output lacks %q:\n%s", part, ann.said)
				}
			}
			want(t, "ann on main", continueFile(t, d, ann.path, "ann00004", "after bob"), "bob00001")
			ann.Do(t, "import", ann.path)
			_, head, _ := strings.Cut(ann.said, "--head ")
			head, _, _ = strings.Cut(head, " ")
			ann.resume(t, "--head", head)
			want(t, "ann on her head", continueFile(t, d, ann.path, "ann00005", "instead"), "ann00003")
			ann.Do(t, "import", ann.path)

			var heads struct {
				Heads []struct {
					Head  string
					Entry struct{ ID string }
				}
			}
			ann.JSON(t, &heads, "heads", id)
			if got := fmt.Sprint(heads.Heads); got != "[{main {ann00004}} {"+head+" {ann00005}}]" {
				t.Errorf("the heads are %s", got)
			}
			bob.resume(t)
			want(t, "bob", continueFile(t, d, bob.path, "bob00002", "bob again"), "ann00004")
			for i, f := range []string{ann.path, bob.path} {
				if left, _ := filepath.Glob(filepath.Join(filepath.Dir(f), "*.aside")); len(left) > 0 {
					t.Errorf("host %d has put aside %q", i, left)
				}
			}
			if out := ann.Do(t, "export", id); strings.Count(out, "\n") != 2+6 {
				t.Errorf("the log has not every line once:\n%s", out)
			}
		})
	}
}

func want(t *testing.T, who string, at core.Leaf, id string) {
	t.Helper()
	if at != core.LeafAt(id) {
		t.Errorf("%s continues at %v, want %s", who, at, id)
	}
}

// A session without branches cannot hold both histories: the file is kept unless
// --force replaces it.
func TestDivergedChainIsNotOverwritten(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	d, err := dialect.Named("openrath")
	if err != nil {
		t.Fatal(err)
	}
	const id = "5d0e79b8-0000-4000-8000-000000000001"
	ann, bob := newWorker(t, node, id), newWorker(t, node, id)
	made := ann.Path("made.jsonl")
	testkit.WriteFile(t, made, []byte(begun["openrath"]))
	ann.Do(t, "import", made)
	ann.resume(t)
	if got := string(testkit.ReadFile(t, ann.path)); !strings.Contains(got, `"sandbox_spec": {"working_dir": "`+ann.Path("lab")+`"}`) {
		t.Errorf("it continues on another head:\n%s", got)
	}
	// Lines that only this host has are stored as long as no other host continued the
	// session.
	continueFile(t, d, ann.path, "ann00001", "ann was here")
	ann.resume(t)
	if !strings.Contains(ann.said, "had 1 line (3) that the log lacked: they are in the log now") {
		t.Errorf("ann's output is\n%s", ann.said)
	}
	bob.resume(t)
	continueFile(t, d, bob.path, "bob00001", "bob was here")
	bob.Do(t, "import", bob.path)
	continueFile(t, d, ann.path, "ann00002", "ann goes on")
	hers := string(testkit.ReadFile(t, ann.path))
	args := []string{"resume", "--take-over", "--cwd", ann.Path("lab"), id}
	r := ann.Sessctl(t, args...)
	if r.Code != 5 || !strings.Contains(r.Err, "it has 1 line (4) that the log lacks, the session continued without them, and sessions of openrath have no branches") {
		t.Errorf("resume: %s", r)
	}
	if string(testkit.ReadFile(t, ann.path)) != hers {
		t.Error("the file was changed")
	}
	out := ann.Do(t, append(args, "--force")...)
	kept, _ := filepath.Glob(ann.path + ".*.aside")
	if len(kept) != 1 || string(testkit.ReadFile(t, kept[0])) != hers || !strings.Contains(out, "is kept as "+kept[0]) {
		t.Errorf("kept is %q; output:\n%s", kept, out)
	}
	want(t, "ann", continueFile(t, d, ann.path, "ann00003", "after bob"), "bob00001")
}

// Nova's file is only the session's state: an older state of this host is replaced, a
// state that was changed here is not.
func TestOlderNovaStateIsReplaced(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	const id = "nova-went-on"
	made := host.Path("sessions", id+".json")
	if err := os.MkdirAll(filepath.Dir(made), 0o700); err != nil {
		t.Fatal(err)
	}
	state := `{"session_id":"` + id + `","created_at":"2026-01-02T03:04:05.000001","last_updated":"2026-01-02T03:04:05.000001","model":"m","key_decisions":[],"latest_artifacts":{},"tokens_used":1,"turn_count":0,"tags":[],"metrics":{"task_count":0,"decision_count":0,"total_tokens":1},"fork_count":0,"pruned":false}` + "\n"
	testkit.WriteFile(t, made, []byte(state))
	host.Do(t, "import", made)
	lab := host.Path("lab")
	if err := os.MkdirAll(lab, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(lab, ".nova", "sessions", id+".json")
	task := func() {
		if r := host.Feed(t, `{"type":"task"}`+"\n", "append", id); r.Code != 0 {
			t.Fatal(r)
		}
	}
	for range 3 {
		task()
		if out := host.Do(t, "resume", id, "--cwd", lab); !strings.HasPrefix(out, path+"\n") || strings.Contains(out, "lacked") {
			t.Errorf("resume says %s", out)
		}
	}
	if got := string(testkit.ReadFile(t, path)); !strings.Contains(got, `"turn_count":3`) {
		t.Errorf("the file is %s", got)
	}
	changed := strings.Replace(string(testkit.ReadFile(t, path)), `"turn_count":3`, `"turn_count":9`, 1)
	testkit.WriteFile(t, path, []byte(changed))
	task()
	if r := host.Sessctl(t, "resume", id, "--cwd", lab); r.Code != 5 || string(testkit.ReadFile(t, path)) != changed {
		t.Errorf("resume over a state that was changed: %s", r)
	}
}
