package index

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// A progress is what was written of a session, kept in memory so that the next write
// reads only new entries. The zero progress is that of an unknown session.
type progress struct {
	seq    uint64
	size   int64        // of the row
	growth *core.Growth // of the entries
	texts  int          // entries whose text was read
	digest xxhash.Digest
}

// continued returns a progress for v, of which the file has old, that has digested
// the entries up to old.texts, and whether they are those in the file.
func (p progress) continued(v *materializer.View, old *stored) (progress, bool) {
	known := p.growth != nil && p.growth == v.Growth && p.texts == old.texts && int64(p.digest.Sum64()) == old.digest
	if known {
		return p, true
	}
	p = progress{growth: v.Growth}
	p.digest.Reset()
	p.add(v.Entries[:min(old.texts, len(v.Entries))])
	return p, p.texts == old.texts && int64(p.digest.Sum64()) == old.digest
}

// add digests further entries.
func (p *progress) add(es []core.Entry) {
	var size [8]byte
	for i := range es {
		binary.LittleEndian.PutUint64(size[:], uint64(len(es[i].Line)))
		_, _ = p.digest.Write(size[:]) // never fails
		_, _ = p.digest.Write(es[i].Line)
	}
	p.texts += len(es)
}

// weigh returns how many bytes of v are not in p.
func (p *progress) weigh(v *materializer.View) int64 {
	if p.growth == nil || p.growth != v.Growth {
		return v.Row.Size
	}
	return v.Row.Size - p.size
}
