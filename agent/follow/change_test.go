package follow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

// notes returns the notes in the session's head records.
func notes(t testing.TB, node *client.Client, id string) (whys []string) {
	t.Helper()
	err := node.Follow(t.Context(), id, core.Cursor{}, false, func(ev api.Event) error {
		if ev.Kind != core.KindHead {
			return nil
		}
		var m core.Move
		if err := json.Unmarshal(ev.Body, &m); err != nil {
			return err
		}
		if m.Note != nil {
			whys = append(whys, m.Note.Why)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return whys
}

func headAt(t testing.TB, node *client.Client, head string) string {
	t.Helper()
	hs, err := node.Heads(t.Context(), sessionID)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hs.Heads {
		if h.Head == head {
			id, _ := h.Leaf.ID()
			return id
		}
	}
	return "no such head"
}

func TestAmendsChangedLine(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two"), said("c", "b", "three")))
	s.flush(t)
	want := text(header, said("a", "", "one"), said("b", "a", "2!!"), said("c", "b", "three"), said("d", "c", "four"))
	write(t, s.path, want)
	s.flush(t)
	s.inLog(t, want)
	if n := notes(t, s.node, sessionID); len(n) > 0 || s.told.count(follow.Conflict) > 0 {
		t.Error(n, s.told.all)
	}
}

func TestKeepsLineThatChangedInTheLog(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	if _, err := s.node.Amend(t.Context(), sessionID, "b", []byte(said("b", "a", "TWO")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	write(t, s.path, text(header, said("a", "", "ONE"), said("b", "a", "two"), said("c", "b", "three")))
	s.flush(t)
	s.inLog(t, text(header, said("a", "", "ONE"), said("b", "a", "TWO"), said("c", "b", "three")))
}

func TestRecordsRemovedLines(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	all := []string{header, said("a", "", "one"), said("b", "a", "two"), said("c", "b", "three")}
	write(t, s.path, text(all...))
	s.flush(t)
	write(t, s.path, text(all[:2]...))
	s.flush(t)
	s.inLog(t, text(all...))
	if at := headAt(t, s.node, core.MainHead); at != "a" {
		t.Errorf("main points to %s", at)
	}
	if n := notes(t, s.node, sessionID); len(n) != 1 || !strings.Contains(n[0], "2 lines left "+s.path+": b, c") {
		t.Error(n)
	}
	add(t, s.path, said("d", "a", "four")+"\n")
	s.flush(t)
	s.inLog(t, text(append(all, said("d", "a", "four"))...))
	if at := headAt(t, s.node, core.MainHead); at != "d" {
		t.Errorf("main points to %s", at)
	}
	write(t, s.path, text(all...)) // restored
	s.flush(t)
	if at := headAt(t, s.node, core.MainHead); at != "c" {
		t.Errorf("main points to %s", at)
	}
	if n := notes(t, s.node, sessionID); len(n) != 2 {
		t.Error(n)
	}
}

func TestRecordsBadLine(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	good := text(header, said("a", "", "one"))
	write(t, s.path, good)
	s.flush(t)
	glued := `{"id":"x"}{"id":"y"}`
	add(t, s.path, glued+"\n"+said("b", "a", "two")+"\n")
	s.flush(t)
	s.inLog(t, good+said("b", "a", "two")+"\n")
	n := notes(t, s.node, sessionID)
	if len(n) != 1 || !strings.Contains(n[0], fmt.Sprintf("%q", glued)) || s.told.count(follow.BadLine) != 1 {
		t.Error(n, s.told.all)
	}
	add(t, s.path, said("c", "b", "three")+"\n")
	write(t, filepath.Join(s.dir, "b.jsonl"), "no session\n")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(s.dir, "b.jsonl"), old, old); err != nil {
		t.Fatal(err)
	}
	s.flush(t)
	s.inLog(t, good+text(said("b", "a", "two"), said("c", "b", "three")))
	if len(notes(t, s.node, sessionID)) != 1 || s.told.count(follow.BadLine) != 1 || s.told.count(follow.BadFile) != 1 {
		t.Error(s.told.all)
	}
}

const ompHeader = `{"type":"session","version":3,"id":"0199aaaa-0000-7000-8000-000000000001","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","title":"x","titleSource":"auto"}`

func slot(title string) string {
	b := fmt.Sprintf(`{"type":"title","v":1,"title":%q,"updatedAt":"2026-01-02T03:04:05.678Z","pad":"`, title)
	return b + strings.Repeat(" ", 255-len(b)-2) + `"}`
}

func TestFollowsTitleWrittenInPlace(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	rest := text(ompHeader, said("a", "", "one"))
	write(t, s.path, slot("first")+"\n"+rest)
	s.flush(t)
	s.run(t)
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(slot("second")), 0); err != nil {
		t.Fatal(err)
	}
	want := slot("second") + "\n" + rest
	until(t, "the second title", func() bool { return string(exported(t, s.node, sessionID)) == want })
	add(t, s.path, said("b", "a", "two")+"\n")
	want += said("b", "a", "two") + "\n"
	until(t, "the line after it", func() bool { return string(exported(t, s.node, sessionID)) == want })
	if n := notes(t, s.node, sessionID); s.told.count(follow.Conflict) > 0 || len(n) > 1 {
		t.Error(n, s.told.all)
	}
}

func TestFollowsReplacedFile(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	s.run(t)
	data := text(header, said("a", "", "one"))
	write(t, s.path, data)
	has := func() bool {
		r, err := s.node.Export(t.Context(), sessionID, false)
		if err != nil {
			return false
		}
		_ = r.Close()
		return string(exported(t, s.node, sessionID)) == data
	}
	until(t, "the file", has)
	for i := range 5 {
		data += said(fmt.Sprint("b", i), "a", "x") + "\n"
		tmp := filepath.Join(s.dir, ".a.jsonl.tmp")
		write(t, tmp, data)
		if err := os.Rename(tmp, s.path); err != nil {
			t.Fatal(err)
		}
		until(t, "the new file", has)
	}
}

func TestFollowsOpenRathSessionToItsFinalName(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	s.run(t)
	const id = "777b24b2-20f3-4e58-99f0-b1edf6f3fd7a"
	lines := []string{
		`{"record_type": "header", "schema_version": 1, "id": "` + id + `", "created_at": "2026-11-20T22:46:45.567712+00:00", "parent_session_ids": [], "lineage_operator": "implicit", "lineage_kind": "unknown", "lineage_extras": [], "sandbox_backend": null, "sandbox_spec": null, "sandbox_handle_id": null}`,
		`{"record_type": "chunk", "index": 0, "kind": "user", "payload": {"content": "go"}}`,
		`{"record_type": "chunk", "index": 1, "kind": "assistant", "payload": {"content": "gone", "tool_calls": null}}`,
		`{"record_type": "trailer", "closed_at": "2026-11-20T22:46:45.133134+00:00", "final_chunk_count": 2, "cumulative_usage": null}`,
	}
	final := filepath.Join(s.dir, id+".jsonl")
	data := ""
	for _, l := range lines {
		data += l + "\n"
		add(t, final+".__partial__", l+"\n")
		until(t, l, func() bool {
			r, err := s.node.Export(t.Context(), id, false)
			if err != nil {
				return false
			}
			_ = r.Close()
			return string(exported(t, s.node, id)) == data
		})
	}
	if err := os.Rename(final+".__partial__", final); err != nil {
		t.Fatal(err)
	}
	until(t, "the final name", func() bool {
		f := s.Files()
		return len(f) == 1 && f[0].Path == final && f[0].Session == id && f[0].Waiting == 0
	})
	if got := string(exported(t, s.node, id)); got != data || s.told.count(follow.FileRemoved) > 0 {
		t.Error(got, s.told.all)
	}
}

func TestTwoHostsKeepBothHistories(t *testing.T) {
	t.Parallel()
	node := startCluster(t).node(t)
	a, b := newSetup(t, node, t.TempDir()), newSetup(t, node, t.TempDir())
	common := text(header, said("a", "", "one"))
	write(t, a.path, common)
	write(t, b.path, common)
	a.flush(t)
	b.flush(t)
	for i := range 3 {
		add(t, a.path, said(fmt.Sprint("x", i), parent("x", i), "on a")+"\n")
		a.flush(t)
		add(t, b.path, said(fmt.Sprint("y", i), parent("y", i), "on b")+"\n")
		b.flush(t)
	}
	got := exported(t, node, sessionID)
	for _, s := range []*setup{a, b} {
		data := testkit.ReadFile(t, s.path)
		for line := range bytes.Lines(data) {
			if bytes.Count(got, line) != 1 {
				t.Errorf("%d times in the log: %s", bytes.Count(got, line), line)
			}
		}
	}
	if a.told.count(follow.Diverged) != 0 || b.told.count(follow.Diverged) != 1 {
		t.Error(a.told.all, b.told.all)
	}
	own := b.told.first(follow.Diverged).Head
	if m, o := headAt(t, node, core.MainHead), headAt(t, node, own); m != "x2" || o != "y2" {
		t.Errorf("main points to %s, %s to %s", m, own, o)
	}
}

func parent(name string, i int) string {
	if i == 0 {
		return "a"
	}
	return fmt.Sprint(name, i-1)
}

func TestFencedWriterGetsSeparateHead(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one")))
	s.flush(t)
	if _, err := s.node.Claim(t.Context(), sessionID, core.ClaimRequest{Agent: "pi", Host: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	add(t, s.path, said("b", "a", "two")+"\n")
	s.flush(t)
	add(t, s.path, said("c", "b", "three")+"\n")
	s.flush(t)
	n := s.told.first(follow.Diverged)
	if headAt(t, s.node, n.Head) != "c" || headAt(t, s.node, core.MainHead) != "a" || !strings.Contains(n.Text, "elsewhere") {
		t.Error(s.told.all)
	}
}

func TestLinesWaitWhileNodeIsAway(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	s.line.down.Store(true)
	stop := s.run(t)
	data := text(header, said("a", "", "one"))
	write(t, s.path, data)
	until(t, "the notice", func() bool { return s.told.count(follow.Away) == 1 })
	for i := range 20 {
		l := said(fmt.Sprint("b", i), "a", "x") + "\n"
		add(t, s.path, l)
		data += l
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Flush(short); err == nil || !strings.Contains(err.Error(), " is not in the log yet") {
		t.Error(err)
	}
	s.line.down.Store(false)
	s.flush(t)
	stop()
	s.inLog(t, data)
	if s.told.count(follow.Away) != 1 || s.told.count(follow.Back) != 1 {
		t.Error(s.told.all)
	}
}

func TestLostAnswerStoresNoLineTwice(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	data := text(header, said("a", "", "one"))
	for i := range 10 {
		s.line.lose.Store(2)
		write(t, s.path, data)
		s.flush(t)
		data += said(fmt.Sprint("b", i), "a", "x") + "\n"
		data += fmt.Sprintf(`{"type":"odd","n":%d}`, i%2) + "\n" // repeated, without an ID
	}
	write(t, s.path, data)
	s.flush(t)
	s.inLog(t, data)
}

func TestStateIsOnlyACache(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	s := newSetup(t, c.node(t), t.TempDir())
	data := text(header, said("a", "", "one"), said("b", "a", "two"))
	write(t, s.path, data)
	s.flush(t)
	if _, err := follow.New(follow.Config{Node: s.node, State: s.state}); err == nil {
		t.Error("two followers opened one state directory")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data += said("c", "b", "three") + "\n"
	write(t, s.path, data) // while no follower runs
	s.open(t)
	before := s.line.sent.Load()
	s.flush(t)
	s.inLog(t, data)
	if n := s.line.sent.Load() - before; n > int64(len(data))/2 {
		t.Errorf("%d bytes were sent for one line", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Lose the places, then the whole state, then the log.
	for _, lost := range []string{filepath.Join(s.state, "places"), s.state} {
		if err := os.RemoveAll(lost); err != nil {
			t.Fatal(err)
		}
		s.open(t)
		s.flush(t)
		s.inLog(t, data)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.node = startCluster(t).node(t)
	s.open(t)
	add(t, s.path, said("d", "c", "four")+"\n")
	s.flush(t)
	s.inLog(t, data+said("d", "c", "four")+"\n")
}
