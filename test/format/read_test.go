package format_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// eachVersion runs a test on the files of each version of the format.
func eachVersion(t *testing.T, test func(t *testing.T, dir string, sessions map[string]expected)) {
	t.Helper()
	dirs, err := filepath.Glob("testdata/v*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("testdata has no version: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			var sessions map[string]expected
			if err := json.Unmarshal(testkit.ReadFile(t, dir, "sessions.json"), &sessions); err != nil {
				t.Fatal(err)
			}
			test(t, dir, sessions)
		})
	}
}

func TestRecordsOfEachVersionFoldToSameSession(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, dir string, sessions map[string]expected) {
		for id, w := range sessions {
			s, _ := fold(t, dir, id)
			if s == nil {
				continue // its first record is gone
			}
			if got := endOf(s); got != w.Cursor {
				t.Errorf("%s: cursor %s, want %s", id, got, w.Cursor)
			}
			if (s.Deleted != nil) != (w.State == "deleted") {
				t.Errorf("%s: was %s, in the trash: %v", id, w.State, s.Deleted != nil)
			}
			for name, at := range w.Heads {
				if is := s.Leaf(name); is != at {
					t.Errorf("%s: head %s points to %v, want %v", id, name, is, at)
				}
			}
			if len(s.Blobs()) > 0 || w.State != "live" {
				continue // its canonical JSONL has references instead of images
			}
			if !bytes.Equal(s.Render(), testkit.ReadFile(t, dir, id+".jsonl")) {
				t.Errorf("%s: lines differ", id)
			}
		}
	})
}

// fold returns a session's state and its records. The state is nil if the first
// record is missing.
func fold(t *testing.T, dir, id string) (*core.State, []*recordio.Record) {
	t.Helper()
	s := core.NewState("main", core.SessionID(id), dialect.All())
	var all []*recordio.Record
	for r, err := range recordio.All(testkit.ReadFile(t, dir, id+".records")) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) == 0 || all[0].Seq != 1 {
		return nil, all
	}
	for _, r := range all {
		if err := s.Apply(&r.Record); err != nil {
			t.Fatalf("%s: record %d: %v", id, r.Seq, err)
		}
	}
	return s, all
}

func endOf(s *core.State) string { return fmt.Sprintf("%d-%s", s.Seq, s.Chain) }

func TestSnapshotsOfEachVersionRestoreSession(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, dir string, sessions map[string]expected) {
		found := 0
		for id, w := range sessions {
			_, all := fold(t, dir, id)
			var s *core.State
			for i, r := range all {
				if r.Kind != core.KindCheckpoint || w.State == "erased" {
					continue
				}
				found++
				m, err := r.Record.Manifest()
				if err != nil {
					t.Fatal(err)
				}
				if s, err = core.Restore(m, unpack(t, dir, id), all[i].Base, dialect.All()); err != nil {
					t.Fatal(err)
				}
			}
			if s == nil {
				continue
			}
			for _, r := range all {
				if r.Seq <= s.Seq {
					continue
				}
				if err := s.Apply(&r.Record); err != nil {
					t.Fatalf("%s: record %d: %v", id, r.Seq, err)
				}
			}
			if endOf(s) != w.Cursor {
				t.Errorf("%s: cursor %s, want %s", id, endOf(s), w.Cursor)
			}
		}
		if found == 0 {
			t.Error("no session has a snapshot")
		}
	})
}

// unpack decompresses a session's snapshot as a whole.
func unpack(t *testing.T, dir, id string) []byte {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(testkit.ReadFile(t, dir, id+".snapshot.zst")))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestNodeStartsOnDataOfEachVersion(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, dir string, sessions map[string]expected) {
		data := t.TempDir()
		extract(t, testkit.ReadFile(t, dir, "data.tar.gz"), data)
		node := harness.StartNode(t, "--node", "golden", "--data", data)
		checkSame(t, node, dir, sessions)
		checkWritable(t, node, sessions)
	})
}

func extract(t *testing.T, b []byte, to string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, filepath.FromSlash(h.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBackupOfEachVersionRestores(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, dir string, sessions map[string]expected) {
		node := harness.StartNode(t)
		host := harness.NewHost(t, node)
		from := mustAbs(t, filepath.Join(dir, "backup"))
		host.Do(t, "backup", "verify", from)
		host.Do(t, "restore", "--from", from, "--all")
		checkSame(t, node, dir, sessions)
		checkWritable(t, node, sessions)
	})
}

// checkSame fails the test unless a node has the sessions as expected.
func checkSame(t *testing.T, node *harness.Node, dir string, sessions map[string]expected) {
	t.Helper()
	c := node.Client()
	ends := harness.Ends(t, c)
	for id, w := range sessions {
		if ends[id] != w.Cursor {
			t.Errorf("%s: cursor %s, want %s", id, ends[id], w.Cursor)
		}
		if w.State != "live" {
			continue
		}
		if !bytes.Equal(harness.Export(t, c, id), testkit.ReadFile(t, dir, id+".jsonl")) {
			t.Errorf("%s: export differs", id)
		}
		for name, at := range headsOf(t, c, id) {
			if at != w.Heads[name] {
				t.Errorf("%s: head %s points to %v, want %v", id, name, at, w.Heads[name])
			}
		}
	}
	if len(ends) != len(sessions) {
		t.Errorf("%d sessions, want %d", len(ends), len(sessions))
	}
}

// checkWritable fails the test unless live sessions take appends, others refuse
// them, and all verify.
func checkWritable(t *testing.T, node *harness.Node, sessions map[string]expected) {
	t.Helper()
	host := harness.NewHost(t, node)
	for id, w := range sessions {
		r := host.Feed(t, harness.Message("user", "after the upgrade"), "append", id)
		if live := r.Code == 0; live != (w.State == "live") {
			t.Errorf("append to %s, which is %s: %s", id, w.State, r)
		}
	}
	host.Do(t, "verify", "--all")
}

func headsOf(t *testing.T, c *client.Client, id string) map[string]core.Leaf {
	t.Helper()
	heads, err := c.Heads(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]core.Leaf{}
	for _, h := range heads.Heads {
		at[h.Head] = h.Leaf
	}
	return at
}
