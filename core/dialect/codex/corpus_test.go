package codex_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/codex"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
)

// A recorded session of Codex, and what Codex sent when it was resumed.
type recorded struct {
	dir      string
	id       string
	files    []bundle.File
	expected struct {
		Title         *string `json:"title"`
		FirstUserText string  `json:"firstUserText"`
		CWD           string  `json:"cwd"`
	}
	input []map[string]any
}

func eachRecorded(t *testing.T, f func(t *testing.T, r recorded)) {
	t.Parallel()
	dirs, _ := filepath.Glob(filepath.Join(dialecttest.Corpus(t), "codex", "*"))
	if len(dirs) == 0 {
		t.Fatal("the corpus has no sessions of Codex")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			r := recorded{dir: dir, files: readTree(t, filepath.Join(dir, "files"))}
			var meta struct{ SessionID string }
			dialecttest.ReadJSON(t, filepath.Join(dir, "meta.json"), &meta)
			r.id = meta.SessionID
			dialecttest.ReadJSON(t, filepath.Join(dir, "expected.json"), &r.expected)
			var request struct{ Input []map[string]any }
			dialecttest.ReadJSON(t, filepath.Join(dir, "resume-request.json"), &request)
			r.input = request.Input
			f(t, r)
		})
	}
}

func readTree(t *testing.T, dir string) []bundle.File {
	t.Helper()
	var files []bundle.File
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files = append(files, bundle.File{Path: path, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// bundled returns the sessions of files by id, each read from its form in the
// log.
func bundled(t testing.TB, files []bundle.File) map[string]*core.File {
	t.Helper()
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	data := func(path string) []byte {
		for _, f := range files {
			if f.Path == path {
				return f.Data
			}
		}
		return nil
	}
	sessions := map[string]*core.File{}
	d := codex.Dialect{}
	for _, b := range d.Bundles(paths, func(path string) []byte { return data(path)[:min(len(data(path)), 64<<10)] }) {
		if b.Main == "" {
			continue
		}
		var own []bundle.File
		for _, path := range b.Files {
			own = append(own, bundle.File{Path: path, Data: data(path)})
		}
		f, err := d.Pack(b.Main, own)
		if err != nil {
			t.Fatal(err)
		}
		again, err := d.File(core.Lines(f.Header.Before(f.Entries)))
		if err != nil {
			t.Fatal(err)
		}
		sessions[again.Header.ID] = again
	}
	return sessions
}

// hostMarks begin what Codex adds to a resumed request for the host where it
// runs.
var hostMarks = []string{"<environment_context>", "<permissions instructions>", "<tools>", "<skills_instructions>", "# AGENTS.md"}

// conversation returns the items of a request that are stored: not the first,
// which are the instructions of the model, not those about the host, and not
// the prompt at its end.
func (r *recorded) conversation(context []map[string]any) []any {
	stored := map[any]bool{}
	for _, it := range context {
		stored[it["id"]] = true
	}
	var items []any
	for i, it := range r.input[:len(r.input)-1] {
		if !stored[it["id"]] && (i == 0 || isAboutHost(it)) {
			continue
		}
		if it["type"] == "additional_tools" {
			delete(it, "note")
		}
		items = append(items, it)
	}
	return items
}

func isAboutHost(it map[string]any) bool {
	blocks, _ := it["content"].([]any)
	for _, b := range blocks {
		text, _ := b.(map[string]any)["text"].(string)
		if !slices.ContainsFunc(hostMarks, func(mark string) bool { return strings.HasPrefix(text, mark) }) {
			return false
		}
	}
	return len(blocks) > 0
}

func TestCorpusContextIsWhatCodexSends(t *testing.T) {
	eachRecorded(t, func(t *testing.T, r recorded) {
		f := bundled(t, r.files)[r.id]
		if f == nil {
			t.Fatal("the session is not among those of the folder")
		}
		raw, err := codex.Dialect{}.Context(f.Entries, core.Leaf{})
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Input []map[string]any }
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		want := r.conversation(got.Input)
		items := []any{}
		for _, it := range got.Input {
			if tools, ok := it["tools"].([]any); ok && it["type"] == "additional_tools" {
				it["tools"] = float64(len(tools)) // the record has their number
			}
			items = append(items, it)
		}
		dialecttest.Compare(t, "input", items, want)
	})
}

func TestCorpusFilesAreRestoredByteForByte(t *testing.T) {
	eachRecorded(t, func(t *testing.T, r recorded) {
		restored := map[string][]byte{}
		for _, f := range bundled(t, r.files) {
			out, err := codex.Dialect{}.Unpack(f.Header, f.Entries, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range out {
				if len(o.Data) > len(restored[o.Path]) { // a fork has the beginning of its parent
					restored[o.Path] = o.Data
				}
			}
		}
		for _, f := range r.files {
			if !strings.HasPrefix(f.Path, "sessions/") {
				continue
			}
			if string(restored[f.Path]) != string(f.Data) {
				t.Errorf("%s: restored %d bytes, it has %d, or others", f.Path, len(restored[f.Path]), len(f.Data))
			}
			delete(restored, f.Path)
		}
		for path := range restored {
			t.Errorf("%s was not there", path)
		}
	})
}

func TestCorpusSummary(t *testing.T) {
	eachRecorded(t, func(t *testing.T, r recorded) {
		f := bundled(t, r.files)[r.id]
		s := codex.Dialect{}.Summary(f.Header, f.Entries)
		info, err := codex.Dialect{}.Info(f.Header, f.Entries, codex.Dialect{}.Leaf(f.Entries))
		if err != nil {
			t.Fatal(err)
		}
		if s.First != r.expected.FirstUserText || info.CWD != r.expected.CWD || info.SessionID != r.id {
			t.Errorf("first text %q in %q, want %q in %q", s.First, info.CWD, r.expected.FirstUserText, r.expected.CWD)
		}
		if want := r.expected.Title; want != nil && s.Name != *want {
			t.Errorf("name %q, want %q", s.Name, *want)
		}
		if s.Usage.Input <= 0 || s.Usage.Output <= 0 {
			t.Errorf("usage %+v", s.Usage)
		}
	})
}
