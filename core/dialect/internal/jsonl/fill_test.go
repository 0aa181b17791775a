package jsonl

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
)

// Fill returns what reading the filled line returns.
func TestFillEqualsReadingFilledLine(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{}`, ` { } `, `{"type":"message"}`, `{"type":"message","message":{"role":"user","content":"hi"}}`,
		`{"message":{"role":"user"},"type":"message"}`, `{"id":"a","type":"label"}`, `{"id":null,"parentId":null,"timestamp":3}`,
		`{"id":"a","parentId":"b","timestamp":"t","type":"x"}`, `{"type":"message","id":"a","message":{"id":"inner","parentId":"p"}}`,
		`{ "type":"message", "message":{} }`, `{"type":"message","message":null}`, `{"type":"a","type":"b"}`, `{"1":2,"type":"a"}`,
		`{"type":"é\u0001","message":"\ud83d\ude00"}`, `{"a":{"type":"message"},"timestamp":"t"}`,
		"{\"type\":\"message\"}\t", `{"type":"message","text":"` + strings.Repeat("x", 5000) + `"}`,
	}
	for _, line := range lines {
		for _, id := range []string{"", "i", `q"é` + "\n", "bad\xff"} {
			for _, parent := range []core.Leaf{{}, core.NoLeaf, core.LeafAt("p"), core.LeafAt("bad\xff")} {
				for _, at := range []string{"", "2026-01-02T03:04:05.678Z"} {
					got, err := Fill([]byte(line), core.Fields{ID: id, Parent: parent, Time: at})
					if err != nil {
						t.Fatalf("%s: %v", line, err)
					}
					filled := Complete([]byte(line), Member{"id", Quoted(id)}, Member{"parentId", Parent(parent)}, Member{"timestamp", Quoted(at)})
					want, err := Entry(filled)
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%s with id %q, parent %v, time %q:\n%+v\nwant %+v, %v", line, id, parent, at, got, want, err)
					}
				}
			}
		}
	}
}
