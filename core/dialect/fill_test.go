package dialect_test

import (
	"reflect"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// A node folds the entries that Fill returned without reading their lines again. They must
// be those that another node reads.
func TestFilledEntryIsThatOfItsLine(t *testing.T) {
	t.Parallel()
	for name, d := range dialect.All() {
		lines := [][]byte{
			d.NewLabel("a", "label"), d.NewName("name"), []byte(`{}`),
			[]byte(`{"type":"message","message":{"role":"user","content":"hi"}}`),
			[]byte(`{"type":"user","message":{"role":"user","content":"hi"}}`),
			[]byte(`{"type":"summary","summary":"text"}`),
			[]byte(`{"type":"message","id":"a","parentId":null,"parent_id":"p","parentUuid":"p","timestamp":7,"message":{"role":"user"}}`),
			[]byte(`{"record_type":"chunk","id":"3","role":"user","content":"hi","timestamp":"2026-01-02T03:04:05.678Z"}`),
			[]byte(`{ "type":"message", "uuid":"u" }`),
		}
		for _, line := range lines {
			for _, parent := range []core.Leaf{{}, core.NoLeaf, core.LeafAt("p")} {
				f := core.Fields{ID: d.EntryID([16]byte{1, 2, 3}), Parent: parent, Time: "2026-01-02T03:04:05.678Z", Position: 1}
				got, err := d.Fill(line, f)
				if err != nil || line == nil {
					continue // no line of this dialect
				}
				want, err := d.Entry(got.Line)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %s:\n%+v\nwant %+v, %v", name, line, got, want, err)
				}
			}
		}
	}
}
