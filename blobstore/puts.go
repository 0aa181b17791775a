package blobstore

import "sync/atomic"

// Puts counts what was put: what had to be written, and what was there already.
type Puts struct {
	Written      int64 `json:"written"`
	WrittenBytes int64 `json:"writtenBytes"`
	There        int64 `json:"there"`
	ThereBytes   int64 `json:"thereBytes"`
}

// puts is Puts that several goroutines count in.
type puts struct{ written, writtenBytes, there, thereBytes atomic.Int64 }

func (p *puts) wrote(size int) {
	p.written.Add(1)
	p.writtenBytes.Add(int64(size))
}

func (p *puts) found(size int) {
	p.there.Add(1)
	p.thereBytes.Add(int64(size))
}

// Puts returns what was put since b was made, a Rewrite counting as written.
func (b *Blobs) Puts() Puts {
	p := &b.puts
	return Puts{p.written.Load(), p.writtenBytes.Load(), p.there.Load(), p.thereBytes.Load()}
}
