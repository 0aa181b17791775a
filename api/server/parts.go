package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// missingParts is an api.ErrMissingParts that names the parts.
type missingParts struct {
	digests []core.Digest
	all     int
}

func (e *missingParts) Error() string {
	return fmt.Sprintf("%d of %d parts are not stored", len(e.digests), e.all)
}

func (e *missingParts) Unwrap() error { return api.ErrMissingParts }

// readContent returns the request's body or, if the body lists parts, the
// content of the parts. The caller calls release after use.
func (s *Server) readContent(r *http.Request) (content []byte, release func(), err error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != api.PartsType {
		return s.readBody(r)
	}
	var list api.Parts
	if err := readJSON(r, &list); err != nil {
		return nil, nil, err
	}
	if n := len(list.Parts); n == 0 || n > api.MaxParts {
		return nil, nil, fmt.Errorf("the body lists %d parts, want 1 to %d: %w", n, api.MaxParts, core.ErrInvalid)
	}
	return s.joinParts(r.Context(), list.Parts)
}

// joinParts returns the content of parts. Before it takes memory, it checks that
// all parts exist and that their content is not larger than a body may be.
func (s *Server) joinParts(ctx context.Context, parts []core.Digest) (content []byte, release func(), err error) {
	missing := &missingParts{all: len(parts)}
	var size int64
	prefix := callerOf(ctx).Prefix
	for _, d := range parts {
		if prefix != "" && !s.parts.has(prefix, d) {
			missing.digests = append(missing.digests, d)
			continue
		}
		info, err := s.cfg.Blobs.Stat(ctx, blobstore.Ref(d))
		if errors.Is(err, blobstore.ErrNotFound) {
			missing.digests = append(missing.digests, d)
			continue
		}
		if err != nil {
			return nil, nil, materializer.BlobError(err)
		}
		size += max(0, info.Size-int64(len(api.PartMark)))
	}
	if most := callerOf(ctx).body(s.cfg.MaxBody); size > most {
		return nil, nil, fmt.Errorf("the parts have %d bytes, %d are allowed (limits.body, or the token's): %w", size, most, core.ErrTooLarge)
	}
	if len(missing.digests) > 0 {
		return nil, nil, missing
	}
	lease, err := s.limiters.memory.Acquire(ctx, (1+bodyWork)*size)
	if err != nil {
		return nil, nil, err
	}
	release = lease.Release
	joined := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	for _, d := range parts {
		switch err := s.readPart(ctx, joined, size, d); {
		case errors.Is(err, api.ErrMissingParts):
			missing.digests = append(missing.digests, d)
		case err != nil:
			release()
			return nil, nil, err
		}
	}
	if len(missing.digests) > 0 {
		release()
		return nil, nil, missing
	}
	return joined.Bytes(), release, nil
}

// maxSentParts bounds sentParts: four contents of the largest number of parts.
const maxSentParts = 4 * api.MaxParts

// sentParts remembers which parts callers for some sessions stored through this
// node. They may read no others: a part is content of another caller's import.
type sentParts struct {
	mu   sync.Mutex
	sent map[sentPart]bool
	ring []sentPart // to forget the oldest
	next int
}

type sentPart struct {
	prefix string
	digest core.Digest
}

func (p *sentParts) add(prefix string, d core.Digest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := sentPart{prefix, d}
	if p.sent[part] {
		return
	}
	if p.sent == nil {
		p.sent, p.ring = map[sentPart]bool{}, make([]sentPart, maxSentParts)
	}
	delete(p.sent, p.ring[p.next])
	p.sent[part], p.ring[p.next] = true, part
	p.next = (p.next + 1) % maxSentParts
}

func (p *sentParts) has(prefix string, d core.Digest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent[sentPart{prefix, d}]
}

// readPart appends the content of a part to out, up to size bytes in all. It
// returns api.ErrMissingParts, and leaves out as it was, if the blob is gone, corrupt
// or not a part.
func (s *Server) readPart(ctx context.Context, out *bytes.Buffer, size int64, d core.Digest) error {
	part, err := s.cfg.Blobs.Open(ctx, blobstore.Ref(d))
	if errors.Is(err, blobstore.ErrNotFound) {
		return api.ErrMissingParts
	}
	if err != nil {
		return materializer.BlobError(err)
	}
	defer part.Close()
	before := out.Len()
	mark := make([]byte, len(api.PartMark))
	_, err = io.ReadFull(part, mark)
	isPart := string(mark) == api.PartMark
	if err == nil && isPart {
		_, err = out.ReadFrom(io.LimitReader(part, size-int64(before)+1))
	}
	switch {
	case errors.Is(err, blobstore.ErrUnavailable), ctx.Err() != nil:
		return materializer.BlobError(err)
	case err != nil, !isPart, int64(out.Len()) > size:
		out.Truncate(before)
		return api.ErrMissingParts
	}
	return nil
}
