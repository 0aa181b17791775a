package follow_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// rootAt opens a follower with a different root.
func (s *setup) rootAt(t testing.TB, root follow.Root) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := follow.New(follow.Config{Node: s.line.through(s.node), Roots: []follow.Root{root}, State: s.state, Notify: s.told.note, Secrets: s.secrets})
	if err != nil {
		t.Fatal(err)
	}
	s.Follower = b
	t.Cleanup(func() { _ = b.Close() })
}

func TestImagesAreSentBeforeTheirLines(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	img := bytes.Repeat([]byte("picture "), 1000)
	sum := fmt.Sprintf("%x", sha256.Sum256(img))
	sessions := filepath.Join(s.dir, "agent", "sessions")
	for _, dir := range []string{filepath.Join(sessions, "-w"), filepath.Join(s.dir, "agent", "blobs")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(s.dir, "agent", "blobs", sum), string(img))
	s.rootAt(t, follow.Root{Path: sessions, Dialect: "omp"})
	path := filepath.Join(sessions, "-w", "a.jsonl")
	data := slot("x") + "\n" + text(ompHeader, said("a", "", "one"))
	write(t, path, data)
	s.flush(t)
	ref := func(sum string) string {
		return `{"type":"message","id":"i` + sum[:4] + `","parentId":"a","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:` + sum + `","mimeType":"image/png"}],"timestamp":1}}` + "\n"
	}
	lost := strings.Repeat("ab", 32)
	add(t, path, ref(sum)+ref(lost))
	s.flush(t)
	s.inLog(t, data+ref(sum)+ref(lost))
	d, err := core.ParseDigest("sha256:" + sum)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.node.Blob(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	if s.told.count(follow.NoImage) != 1 || !strings.Contains(s.told.first(follow.NoImage).Text, lost) {
		t.Error(s.told.all)
	}
}

func TestTwoFollowersOfOneFileStoreEachLineOnce(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "here"} { // without and with claims
		t.Run("host "+host, func(t *testing.T) { t.Parallel(); storeOnce(t, host) })
	}
}

func storeOnce(t *testing.T, host string) {
	a := claiming(t, startCluster(t).node(t), host, time.Second)
	b := &setup{dir: a.dir, path: a.path, state: t.TempDir(), node: a.node, line: &line{}, told: &told{}, host: host, idle: time.Second}
	b.open(t)
	a.run(t)
	b.run(t)
	data := text(header)
	write(t, a.path, data)
	last := ""
	for i := range 100 {
		id := fmt.Sprint("n", i)
		l := said(id, last, "x") + "\n"
		last = id
		data += l
		add(t, a.path, l)
	}
	a.flush(t)
	b.flush(t)
	a.inLog(t, data)
	if a.told.count(follow.Diverged)+b.told.count(follow.Diverged) > 0 {
		t.Error(a.told.all, b.told.all)
	}
}

// An agent adds IDs to the entries of an old file when it opens it.
func TestFollowsFileMigratedByItsAgent(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	old := `{"type":"session","id":"` + sessionID + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}` + "\n" +
		`{"type":"message","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":1}}` + "\n"
	write(t, s.path, old)
	s.flush(t)
	grown := old + `{"type":"message","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"user","content":"two","timestamp":1}}` + "\n"
	write(t, s.path, grown)
	s.flush(t)
	if n := len(entries(t, s.node, sessionID)); n != 2 {
		t.Fatalf("%d entries of an old file, want 2; notices: %v", n, s.told.all)
	}
	write(t, s.path, text(strings.Replace(header, `"version":3,`, "", 1), said("f00", "", "one"), said("f01", "f00", "two"))[:0]+
		`{"type":"session","id":"`+sessionID+`","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","version":3}`+"\n"+text(said("f00", "", "one"), said("f01", "f00", "two")))
	s.flush(t)
	add(t, s.path, said("f02", "f01", "three")+"\n")
	s.flush(t)
	if at := headAt(t, s.node, core.MainHead); at != "f02" {
		t.Errorf("main points to %s; notices: %v", at, s.told.all)
	}
	if n := len(entries(t, s.node, sessionID)); n != 5 {
		t.Errorf("%d entries, want 2 of the old file and 3 of the new; notices: %v", n, s.told.all)
	}
	if n := notes(t, s.node, sessionID); len(n) == 0 || !strings.Contains(n[0], "2 lines left") {
		t.Error(n)
	}
}

func TestImportsNovaDocuments(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	dir := filepath.Join(s.dir, "sessions")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const id = "613d77d2-2697-42ba-93ca-4ea1267533ac"
	doc := func(turns int) string {
		return fmt.Sprintf(`{"session_id":%q,"created_at":"2026-11-20T22:50:44.971772","last_updated":"2026-11-20T22:50:44.971772","model":"m","key_decisions":[],"latest_artifacts":{},"tokens_used":0,"turn_count":%d,"tags":[],"metrics":{"task_count":0,"decision_count":0,"total_tokens":0},"fork_count":0,"pruned":false}`, id, turns)
	}
	for turns := range 3 {
		write(t, filepath.Join(dir, id+".json"), doc(turns))
		s.flush(t)
		if got := string(exported(t, s.node, id)); strings.TrimSpace(got) != doc(turns) {
			t.Errorf("the log has\n%s\nthe file has\n%s\nnotices: %v", got, doc(turns), s.told.all)
		}
	}
}

func TestReportsDeletedSessionAndResumesWhenRestored(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	data := text(header, said("a", "", "one"))
	write(t, s.path, data)
	s.flush(t)
	if err := s.node.Delete(t.Context(), sessionID, api.Notice{By: "me"}); err != nil {
		t.Fatal(err)
	}
	add(t, s.path, said("b", "a", "two")+"\n")
	s.flush(t)
	s.flush(t)
	if n := s.told.count(follow.Stopped); n != 1 || s.Files()[0].Error == "" {
		t.Error(s.told.all)
	}
	if err := s.node.Undelete(t.Context(), sessionID, api.Notice{By: "me"}); err != nil {
		t.Fatal(err)
	}
	add(t, s.path, said("c", "b", "three")+"\n")
	s.flush(t)
	s.inLog(t, data+text(said("b", "a", "two"), said("c", "b", "three")))
}

func TestIsSessionName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"/s/2026_x.jsonl": true, "/s/x.jsonl.__partial__": true, "/p/.nova/sessions/x.json": true,
		"/s/.x.jsonl.lock": false, "/s/.x.jsonl.12.tmp": false, "/s/x.jsonl.12.bak": false, "/s/.x.jsonl": false,
		"/s/settings.json": false, "/s/draft.txt": false, "/s/1.bash.log": false,
	} {
		if got := follow.IsSessionName(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
