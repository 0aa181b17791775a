package opencode_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/internal/testkit"
)

// A recorded session of opencode, and what opencode sent when it was resumed.
type recorded struct {
	dir      string
	id       string
	files    []bundle.File
	expected struct {
		Title    string `json:"title"`
		CWD      string `json:"cwd"`
		Messages int    `json:"messages"`
	}
	messages []any
}

func eachRecorded(t *testing.T, f func(t *testing.T, r recorded)) {
	t.Parallel()
	dirs, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "opencode", "*"))
	if len(dirs) == 0 {
		t.Fatal("the corpus has no sessions of opencode")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			r := recorded{dir: dir}
			names, _ := filepath.Glob(filepath.Join(dir, "files", "*"))
			for _, name := range names {
				data := testkit.ReadFile(t, name)
				r.files = append(r.files, bundle.File{Path: filepath.Base(name), Data: data})
			}
			var meta struct{ SessionID string }
			dialecttest.ReadJSON(t, filepath.Join(dir, "meta.json"), &meta)
			r.id = meta.SessionID
			dialecttest.ReadJSON(t, filepath.Join(dir, "expected.json"), &r.expected)
			var request struct{ Messages []any }
			dialecttest.ReadJSON(t, filepath.Join(dir, "resume-request.json"), &request)
			r.messages = request.Messages[1 : len(request.Messages)-1] // not the system's, not the new prompt
			f(t, r)
		})
	}
}

func TestCorpusContextIsWhatOpencodeSends(t *testing.T) {
	eachRecorded(t, func(t *testing.T, r recorded) {
		for _, files := range [][]bundle.File{r.files, without(r.files, "export.json"), without(r.files, "events.json")} {
			f := bundled(t, files)[r.id]
			if f == nil {
				t.Fatal("the session is not among those of the folder")
			}
			raw, err := opencode.Dialect{}.Context(f.Entries, core.Leaf{})
			if err != nil {
				t.Fatal(err)
			}
			var got struct{ Messages []any }
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			dialecttest.Compare(t, "messages", got.Messages, r.messages)
		}
	})
}

func TestCorpusFilesAreRestoredByteForByte(t *testing.T) {
	eachRecorded(t, func(t *testing.T, r recorded) {
		for _, f := range r.files {
			one := bundled(t, []bundle.File{f})
			for id, s := range one {
				name := "export.json"
				if strings.HasPrefix(string(f.Data), "[") {
					name = "events.json"
				}
				if got := restored(t, s, "")[name]; got != string(f.Data) {
					t.Errorf("%s of %s: restored %d bytes, it has %d, or others", f.Path, id, len(got), len(f.Data))
				}
			}
		}
		for id, s := range bundled(t, r.files) {
			files := restored(t, s, "")
			for _, f := range r.files {
				if id == r.id && (f.Path == "events.json" || f.Path == "export.json") && files[f.Path] != string(f.Data) {
					t.Errorf("%s: restored %d bytes, it has %d, or others", f.Path, len(files[f.Path]), len(f.Data))
				}
			}
			moved := restored(t, s, "/new/home")
			for name, text := range moved {
				back := strings.NewReplacer(`/new/home`, r.expected.CWD, `"new/home"`, `"`+strings.TrimPrefix(r.expected.CWD, "/")+`"`).Replace(text)
				if back != files[name] || text == files[name] {
					t.Errorf("%s for another directory has other changes, or none", name)
				}
			}
		}
	})
}

func TestCorpusSummary(t *testing.T) {
	eachRecorded(t, func(t *testing.T, r recorded) {
		for _, files := range [][]bundle.File{r.files, without(r.files, "events.json")} {
			f := bundled(t, files)[r.id]
			d := opencode.Dialect{}
			s := d.Summary(f.Header, f.Entries)
			info, err := d.Info(f.Header, f.Entries, d.Leaf(f.Entries))
			if err != nil {
				t.Fatal(err)
			}
			if info.CWD != r.expected.CWD || info.SessionID != r.id || s.Name != r.expected.Title || info.Name == nil || *info.Name != s.Name {
				t.Errorf("named %q in %q, want %q in %q", s.Name, info.CWD, r.expected.Title, r.expected.CWD)
			}
			if s.Usage.Input <= 0 || s.Usage.Output <= 0 || s.First == "" || s.Messages == 0 || s.Messages > r.expected.Messages {
				t.Errorf("summary %+v of %d messages", s, r.expected.Messages)
			}
		}
	})
}

// What the session says as items is what opencode sends, but for where a summary
// is.
func TestCorpusSessionsBecomeItems(t *testing.T) {
	eachRecorded(t, func(t *testing.T, r recorded) {
		f := bundled(t, r.files)[r.id]
		its, err := opencode.Dialect{}.ReadAll(f.Header, f.Entries, core.Leaf{})
		if err != nil || len(its) == 0 {
			t.Fatalf("%d items, %v", len(its), err)
		}
	})
}
