package claude

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
)

// filesBelow returns the files below dir by their slash-separated paths.
func filesBelow(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// packAll packs every session among files.
func packAll(t testing.TB, files map[string][]byte) []*core.File {
	t.Helper()
	var paths []string
	for p := range files {
		paths = append(paths, p)
	}
	var all []*core.File
	for _, b := range (Dialect{}).Bundles(paths, func(p string) []byte { return files[p][:min(len(files[p]), 64<<10)] }) {
		if b.Main == "" {
			continue
		}
		var named []bundle.File
		for _, p := range b.Files {
			named = append(named, bundle.File{Path: p, Data: files[p]})
		}
		f, err := Dialect{}.Pack(b.Main, named)
		if err != nil {
			t.Fatalf("%s: %v", b.Main, err)
		}
		all = append(all, f)
	}
	return all
}

// stored returns f as the log has it.
func stored(t testing.TB, f *core.File) *core.File {
	t.Helper()
	g, err := Dialect{}.File(core.Lines(f.Header.Before(f.Entries)))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Entries) != len(f.Entries) {
		t.Fatalf("%d of %d entries are read", len(g.Entries), len(f.Entries))
	}
	for i := range f.Entries {
		if d := cmp.Diff(f.Entries[i], g.Entries[i]); d != "" {
			t.Fatalf("entry %d (-made +read):\n%s", i, d)
		}
	}
	return g
}

// corpusSessions calls f with each folder of the corpus.
func corpusSessions(t *testing.T, f func(t *testing.T, dir string)) {
	dirs, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "claude", "*"))
	if len(dirs) == 0 {
		t.Skip("the corpus has no sessions of claude")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			f(t, dir)
		})
	}
}

func TestCorpusIsRestoredByteForByte(t *testing.T) {
	t.Parallel()
	corpusSessions(t, func(t *testing.T, dir string) {
		want := filesBelow(t, filepath.Join(dir, "projects"))
		got := map[string][]byte{}
		for _, f := range packAll(t, want) {
			g := stored(t, f)
			files, err := Dialect{}.Unpack(g.Header, g.Entries, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				got[strings.TrimPrefix(file.Path, "projects/")] = file.Data
			}
		}
		for p, b := range want {
			if !bytes.Equal(got[p], b) {
				t.Errorf("%s differs", p)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d files, want %d", len(got), len(want))
		}
	})
}

func TestCorpusContextIsTheRequest(t *testing.T) {
	t.Parallel()
	corpusSessions(t, func(t *testing.T, dir string) {
		var meta, expected struct{ SessionID, ResumePrompt, LeafUUID, LastPrompt string }
		var request struct{ Messages []any }
		dialecttest.ReadJSON(t, filepath.Join(dir, "meta.json"), &meta)
		dialecttest.ReadJSON(t, filepath.Join(dir, "expected.json"), &expected)
		dialecttest.ReadJSON(t, filepath.Join(dir, "resume-request.json"), &request)
		for _, f := range packAll(t, filesBelow(t, filepath.Join(dir, "projects"))) {
			if f.Header.ID != meta.SessionID {
				continue
			}
			g := stored(t, f)
			if id, _ := (Dialect{}).Leaf(g.Entries).ID(); id != expected.LeafUUID {
				t.Errorf("leaf %s, want %s", id, expected.LeafUUID)
			}
			raw, err := Dialect{}.Context(g.Entries, core.Leaf{})
			if err != nil {
				t.Fatal(err)
			}
			got := dialecttest.Parsed(t, raw).(map[string]any)["messages"]
			dialecttest.Compare(t, "messages", got, withoutHost(request.Messages, meta.ResumePrompt))
			checkHeads(t, g)
			return
		}
		t.Error("the session is not found")
	})
}

// checkHeads folds the entries one by one, as if they were appended, and expects
// the leaf of the whole file at the end.
func checkHeads(t *testing.T, f *core.File) {
	t.Helper()
	byID := map[string]core.Entry{}
	find := func(id string) (core.Entry, bool) { e, ok := byID[id]; return e, ok && id != "" }
	leaf := core.NoLeaf
	for i, e := range f.Entries {
		byID[e.ID] = e
		leaf = Dialect{}.LeafAfter(leaf, f.Entries[i:i+1], f.Entries[:i+1], find)
	}
	if want := (Dialect{}).Leaf(f.Entries); leaf != want {
		t.Errorf("the head is at %v after all lines, a file is at %v", leaf, want)
	}
}

// withoutHost returns messages without the next prompt, and what the agent reads
// from the host before and after it.
func withoutHost(messages []any, prompt string) []any {
	var out []any
	for i, m := range messages {
		m := m.(map[string]any)
		blocks, ok := m["content"].([]any)
		if !ok {
			out = append(out, m)
			continue
		}
		var kept []any
		ended := false
		for j, b := range blocks {
			b := b.(map[string]any)
			delete(b, "cache_control")
			s, _ := b["text"].(string)
			if ended = s == prompt; ended {
				break
			}
			if i > 0 || j > 0 || !strings.HasPrefix(s, "<system-reminder>") {
				kept = append(kept, b)
			}
		}
		if len(kept) > 0 {
			m["content"] = kept
			out = append(out, m)
		}
		if ended {
			break
		}
	}
	return out
}
