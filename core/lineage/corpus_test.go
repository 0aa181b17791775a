package lineage_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/internal/testkit"
)

// RATH-08, RATH-50: of every session that OpenRath wrote, the row has the words
// that its header has.
func TestCorpusExportKeepsOpenRathWords(t *testing.T) {
	t.Parallel()
	dir := dialecttest.Corpus(t)
	files, err := filepath.Glob(filepath.Join(dir, "openrath", "*"))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, path := range files {
		b := testkit.ReadFile(t, path)
		line, _, _ := bytes.Cut(b, []byte("\n"))
		var h struct {
			Type     string   `json:"record_type"`
			ID       string   `json:"id"`
			Parents  []string `json:"parent_session_ids"`
			Operator string   `json:"lineage_operator"`
			Kind     string   `json:"lineage_kind"`
			Extras   []any    `json:"lineage_extras"`
		}
		if json.Unmarshal(line, &h) != nil || h.Type != "header" {
			continue
		}
		read++
		s := lineage.OfHeader("openrath", core.Header{Line: line, Parents: h.Parents})
		if s.Word.Operator != h.Operator || s.Word.Kind != h.Kind || len(s.Extras) != len(h.Extras) || len(s.Parents) != len(h.Parents) {
			t.Errorf("%s: %+v of %s", filepath.Base(path), s, line)
		}
		out := lineage.Node{ID: core.SessionID(h.ID), Stamp: s}.Row().Append(nil)
		for _, member := range []string{"parent_session_ids", "lineage_operator", "lineage_kind", "lineage_extras"} {
			if want := rawMember(t, line, member); !bytes.Contains(out, []byte(`"`+member+`": `+want)) {
				t.Errorf("%s: the row lacks %s: %s\n%s", filepath.Base(path), member, want, out)
			}
		}
	}
	if read == 0 {
		t.Errorf("no session of OpenRath's in %s", dir)
	}
}

// rawMember is the text of a member, as it was written.
func rawMember(t *testing.T, line []byte, name string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	return string(m[name])
}
