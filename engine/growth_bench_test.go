package engine_test

import (
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/engine"
)

// BenchmarkAppendToLong appends to sessions of each dialect that are short and long. The
// times of a dialect should not differ much.
func BenchmarkAppendToLong(b *testing.B) {
	for name, d := range dialect.All() {
		line, _ := d.Write(item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: "what was said"}}})
		switch {
		case name == "bytestream":
			line = []byte(`{"type":"append","length":2,"text":"hi"}`)
		case line == nil: // its sessions hold no messages
			continue
		}
		for _, n := range []int{100, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				_, ss, _ := inMemory()
				h, err := d.Header(d.NewHeader(core.HeaderFields{ID: "01234567-89ab-4def-8123-456789abcdef", Time: "2026-01-02T03:04:05.000Z", CWD: "/w"}))
				if err != nil {
					b.Skip(err)
				}
				es := make([]core.Entry, n)
				leaf := core.NoLeaf
				for i := range es {
					id := d.EntryID([16]byte{byte(i), byte(i >> 8), byte(i >> 16), 1})
					if es[i], err = d.Fill(line, core.Fields{ID: id, Parent: leaf, Time: "2026-01-02T03:04:05.000Z", Position: i + 1}); err != nil {
						b.Skip(err)
					}
					leaf = d.Leaf(es[i : i+1])
				}
				s, err := ss.Create(b.Context(), engine.CreateRequest{ID: "session1", Origin: core.Origin{Dialect: name}, Header: h, Entries: es})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Append(b.Context(), engine.Append{Lines: [][]byte{line}}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
