package blobstore

import "sync/atomic"

// Puts counts the blobs that were put: those written, and those that existed.
type Puts struct {
	Written       int64 `json:"written"`
	WrittenBytes  int64 `json:"writtenBytes"`
	Existing      int64 `json:"there"`
	ExistingBytes int64 `json:"thereBytes"`
}

// puts is Puts for concurrent use.
type puts struct{ written, writtenBytes, existing, existingBytes atomic.Int64 }

func (p *puts) wrote(size int) {
	p.written.Add(1)
	p.writtenBytes.Add(int64(size))
}

func (p *puts) existed(size int) {
	p.existing.Add(1)
	p.existingBytes.Add(int64(size))
}

// Puts returns the counts since b was created. Rewrite counts as written.
func (b *Blobs) Puts() Puts {
	p := &b.puts
	return Puts{p.written.Load(), p.writtenBytes.Load(), p.existing.Load(), p.existingBytes.Load()}
}
