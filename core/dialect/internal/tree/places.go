package tree

import (
	"hash/maphash"
	"math/bits"

	"github.com/sesslog/sesslog/core"
)

// places maps ids to the indexes of entries, like Index: of several entries
// with one id, the last. It is a hash table that does not store the ids again.
type places struct {
	es    []core.Entry
	seed  maphash.Seed
	slots []int32 // an index in es plus one, or 0 if the slot is empty
}

func placesOf(es []core.Entry) *places {
	p := &places{es: es, seed: maphash.MakeSeed(), slots: make([]int32, 2<<bits.Len(uint(len(es))))}
	for i := range es {
		if id := es[i].ID; id != "" {
			p.slots[p.slot(id)] = int32(i + 1)
		}
	}
	return p
}

// of returns the index of the entry called id, or -1 if there is none.
func (p *places) of(id string) int {
	if id == "" {
		return -1
	}
	return int(p.slots[p.slot(id)]) - 1
}

// slot returns the slot of id, or the empty slot where it belongs.
func (p *places) slot(id string) int {
	last := len(p.slots) - 1
	for i := int(maphash.String(p.seed, id)) & last; ; i = (i + 1) & last {
		if at := p.slots[i]; at == 0 || p.es[at-1].ID == id {
			return i
		}
	}
}
