package inside

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/internal/memory"
)

const (
	// readWork is how many bytes of memory an answer takes for each byte of it while it is
	// read: the bytes, their parts, and what is made of them.
	readWork = 4
	// growStep is how much memory is reserved at a time for a large answer.
	growStep = 1 << 20
)

// A body is the body of an answer that counts against the node's memory while it is
// read. An answer of lines counts one line at a time, until the next one is read; any
// other answer counts until its caller's lease ends.
type body struct {
	io.ReadCloser
	ctx     context.Context
	lease   *memory.Lease
	byLines bool
	line    int64 // bytes of the line so far, or of the answer
	held    int64 // reserved for it
	rest    int64 // bytes after the end of the last line that was read
	ended   bool  // the line was read to its end
}

// countedBody returns the body of an answer that counts against the lease of a caller.
func countedBody(ctx context.Context, from io.ReadCloser, header http.Header, caller *memory.Lease) io.ReadCloser {
	kind := header.Get("Content-Type")
	if strings.HasPrefix(kind, "application/x-ndjson") || strings.HasPrefix(kind, "text/event-stream") {
		return &body{ReadCloser: from, ctx: ctx, lease: caller.Beside(), byLines: true}
	}
	return &body{ReadCloser: from, ctx: ctx, lease: caller}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.ended {
		b.lease.Release()
		b.line, b.held, b.ended = b.rest, 0, false
	}
	n, err := b.ReadCloser.Read(p)
	b.line += int64(n)
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 && b.byLines {
		b.ended, b.rest = true, int64(n-i-1)
	}
	if need := b.line*readWork - b.held; need >= memory.Small {
		need = max(need, growStep)
		if err := b.lease.Grow(b.ctx, need); err != nil {
			return 0, err
		}
		b.held += need
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	if b.byLines {
		b.lease.Release()
	}
	return b.ReadCloser.Close()
}
