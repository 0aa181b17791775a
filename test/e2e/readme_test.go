package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The commands of the README, against one node.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 40, Images: 4})
	host := harness.NewHost(t, node)
	path := file.Save(t, host.Dir)
	id, middle, last := file.ID, file.IDs[len(file.IDs)/2], file.IDs[len(file.IDs)-1]

	if out := host.Do(t, "import", path); !strings.Contains(out, id) {
		t.Errorf("import prints %q", out)
	}
	if out := host.Do(t, "ls", "-o", "wide"); !strings.Contains(out, id) {
		t.Errorf("ls prints %q", out)
	}
	var again api.Imported
	host.JSON(t, &again, "import", path)
	if again.Created || again.Entries != 0 {
		t.Errorf("import of the same file again: %+v", again)
	}
	if out := host.Do(t, "tree", "--all", id); !strings.Contains(out, last) || strings.Count(out, "\n") != len(file.IDs) {
		t.Errorf("tree prints %d lines for %d entries, the leaf among them: %v", strings.Count(out, "\n"), len(file.IDs), strings.Contains(out, last))
	}
	host.Do(t, "model-input", id)
	host.Do(t, "status")

	// The log reports of the session the same as sessctl reads from the file.
	for _, verb := range []string{"info", "tree", "model-input", "entries"} {
		fromLog, fromFile := parsed(t, []byte(host.Do(t, verb, id, "-o", "json"))), parsed(t, []byte(host.Do(t, verb, path, "-o", "json")))
		if m, ok := fromLog.(map[string]any); ok {
			delete(m, "log")
		}
		if d := cmp.Diff(fromFile, fromLog); d != "" {
			t.Errorf("%s of the log differs from that of the file (-file):\n%.2000s", verb, d)
		}
	}
	prefix := strings.SplitN(id, "-", 2)[0]
	if a, b := host.Do(t, "tree", prefix), host.Do(t, "tree", id); a != b {
		t.Errorf("tree of the prefix %s differs", prefix)
	}

	// tail -f shows appends of other clients.
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tail := host.Command(ctx, t, "tail", "-f", id, "-o", "json")
	printed, err := tail.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	shown := make(chan api.Event, 100)
	go readEvents(printed, shown)
	opened := next(t, shown, "the record of the import")
	if opened.Kind != core.KindOpen || len(opened.Entries) != len(file.IDs)+1 {
		t.Errorf("the first record: %s with %d lines", opened.Kind, len(opened.Entries))
	}
	elsewhere := harness.NewHost(t, node)
	if r := elsewhere.Feed(t, harness.Message("user", "from elsewhere"), "append", id); r.Code != 0 {
		t.Fatalf("append: %s", r)
	}
	ev := next(t, shown, "what was appended elsewhere")
	for ev.Kind == core.KindCheckpoint { // the node may have made one in the meantime
		ev = next(t, shown, "what was appended elsewhere")
	}
	if len(ev.Entries) != 1 || !strings.Contains(string(ev.Entries[0]), "from elsewhere") {
		t.Errorf("tail -f shows %+v", ev)
	}
	stop()
	_ = tail.Wait()

	// export returns the file and the later appends.
	host.Do(t, "export", id, "--out", "back.jsonl")
	back := testkit.ReadFile(t, host.Path("back.jsonl"))
	sameBytes(t, "the exported file's beginning", back[:min(len(back), len(file.Bytes))], file.Bytes)
	if n := len(entriesOf(t, back)); n != len(file.IDs)+1 {
		t.Errorf("the exported file has %d entries, want %d", n, len(file.IDs)+1)
	}
	if r := host.Sessctl(t, "export", id, "--out", "back.jsonl"); r.Code != 5 || !strings.Contains(r.Err, "--force") {
		t.Errorf("export over a file: %s", r)
	}

	checkFork(t, host, id, middle)
	checkResume(t, host, elsewhere, id)
	for _, verb := range [][]string{{"verify", id}, {"label", id, middle, "here"}, {"name", id, "a session"}, {"checkpoint", id}, {"verify", id}, {"blobs", "ls"}} {
		host.Do(t, verb...)
	}
	host.Do(t, "rm", id)
	if r := host.Sessctl(t, "tree", id); strings.Contains(host.Do(t, "ls", "-o", "wide"), id) {
		t.Errorf("a deleted session is listed; tree: %s", r)
	}
	if r := host.Feed(t, harness.Message("user", "too late"), "append", id); r.Code != 9 {
		t.Errorf("append to a deleted session: %s", r)
	}
	host.Do(t, "rm", "--undo", id)
	intact(t, node.Client(), id)
}

func checkFork(t *testing.T, host *harness.Host, id, at string) {
	t.Helper()
	var fork api.Created
	host.JSON(t, &fork, "fork", id, "--at", at)
	var info api.Info
	host.JSON(t, &info, "info", string(fork.ID))
	from := info.Log.Origin.Lineages()
	if info.LeafID == nil || *info.LeafID != at || len(from) != 1 || string(from[0].Session) != id {
		t.Errorf("the fork is at %v, from %+v", info.LeafID, from)
	}
	want := host.Do(t, "model-input", id, "--leaf", at, "-o", "json")
	if got := host.Do(t, "model-input", string(fork.ID), "-o", "json"); got != want {
		t.Error("the fork's context differs from that of its origin")
	}
}

func checkResume(t *testing.T, first, second *harness.Host, id string) {
	t.Helper()
	var here, there struct {
		Path   string      `json:"path"`
		Writer string      `json:"writer"`
		Former *core.Claim `json:"former"`
	}
	first.JSON(t, &here, "resume", id, "--dir", first.Path("some", "where"))
	got := testkit.ReadFile(t, here.Path)
	sameBytes(t, "the resumed file", got, []byte(first.Do(t, "export", id)))
	// The agent continues its file; an import adds the new lines, as the holder of the
	// claim.
	grown := string(got) + fmt.Sprintf(`{"type":"message","id":"abcd0001","parentId":%q,"timestamp":"2026-03-02T00:00:00.000Z","message":{"role":"user","content":"more","timestamp":1}}`+"\n",
		lastID(t, got))
	testkit.WriteFile(t, here.Path, []byte(grown))
	var imported api.Imported
	first.JSON(t, &imported, "import", here.Path)
	if imported.Entries != 1 {
		t.Errorf("import of the grown file: %+v", imported)
	}
	// Another host takes over: the first one is fenced, and the error names the new
	// holder.
	second.JSON(t, &there, "resume", "--take-over", id, "--dir", second.Path("elsewhere"), "--agent", "the other")
	if there.Former == nil || there.Former.Writer != here.Writer {
		t.Errorf("the second resume does not name the first: %+v", there.Former)
	}
	r := first.Feed(t, harness.Message("user", "too late"), "append", id)
	if r.Code != 6 || !strings.Contains(r.Err, "the other") {
		t.Errorf("append of the fenced host: %s", r)
	}
	if r := second.Feed(t, harness.Message("user", "mine"), "append", id); r.Code != 0 {
		t.Errorf("append of the new holder: %s", r)
	}
	second.Do(t, "release", id)
}

func lastID(t *testing.T, file []byte) string {
	t.Helper()
	es := entriesOf(t, file)
	return es[len(es)-1].ID
}
