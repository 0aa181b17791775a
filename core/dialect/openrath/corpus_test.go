package openrath_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/internal/testkit"
)

// loadedJSON is what OpenRath's own loader holds of a file.
type loadedJSON struct {
	Header map[string]any `json:"header"`
	Chunks []struct {
		Kind    string `json:"kind"`
		Payload any    `json:"payload"`
	} `json:"chunks"`
	Usage  any  `json:"cumulative_usage"`
	Closed bool `json:"closed"`
}

// RATH-01, RATH-34, RATH-35, RATH-36, RATH-37, RATH-38, RATH-41
func TestCorpusLoadsLikeOpenRath(t *testing.T) {
	t.Parallel()
	dir := dialecttest.Corpus(t)
	names, _ := filepath.Glob(filepath.Join(dir, "openrath", "*.jsonl.loaded.json"))
	partial, _ := filepath.Glob(filepath.Join(dir, "openrath", "*.__partial__.loaded.json"))
	if len(names) == 0 || len(partial) == 0 {
		t.Fatal("no files in the corpus")
	}
	for _, name := range append(names, partial...) {
		name = strings.TrimSuffix(name, ".loaded.json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data := testkit.ReadFile(t, name)
			f, d, err := dialect.Read("", data)
			if err != nil || d.Name() != "openrath" {
				t.Fatalf("read as %v, %v", d, err)
			}
			ended := data[:bytes.LastIndexByte(data, '\n')+1]
			got := core.Lines(d.Layout(f.Header, f.Entries))
			if !bytes.Equal(got, ended) || f.Exact != (len(ended) == len(data)) {
				t.Errorf("exact %v, rendered other bytes", f.Exact)
			}
			var want loadedJSON
			b, err := os.ReadFile(name + ".loaded.json")
			if err == nil {
				err = json.Unmarshal(b, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			compareLoaded(t, f, load(t, data), want)
		})
	}
}

func compareLoaded(t *testing.T, f *core.File, l openrath.Loaded, want loadedJSON) {
	t.Helper()
	testkit.Equal(t, "closed", want.Closed, l.Closed)
	testkit.Equal(t, "rows", len(want.Chunks), l.Rows.Len())
	for i, c := range l.Rows.All() {
		testkit.Equal(t, "kind", want.Chunks[i].Kind, string(c.Kind()))
		testkit.Equal(t, "payload", want.Chunks[i].Payload, parsed(t, c.Payload()))
		testkit.Equal(t, "line", string(f.Entries[i].Line), string(c.Line(i)))
	}
	head := parsed(t, l.Header()).(map[string]any)
	delete(head, "record_type")
	testkit.Equal(t, "header", want.Header, head)
	testkit.Equal(t, "header line", string(f.Header.Line), string(l.Header()))
	info, err := openrath.Dialect{}.Info(f.Header, f.Entries, core.Leaf{})
	if err != nil {
		t.Fatal(err)
	}
	own := parsed(t, info.Own).(map[string]any)
	testkit.Equal(t, "usage", want.Usage, own["cumulativeUsage"])
	testkit.Equal(t, "entries", len(want.Chunks), info.EntryCount)
	if last := f.Entries[len(f.Entries)-1]; last.Aside {
		made := openrath.NewTrailer(last.Time, l.Rows.Len(), l.Usage)
		testkit.Equal(t, "trailer", string(last.Line), string(made))
	}
}
