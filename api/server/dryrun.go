package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
)

// withDryRun answers with h, or with a dry run of rt if the request asks for one.
func (s *Server) withDryRun(rt *route, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		values := r.Header.Values(api.HeaderDryRun)
		if len(values) == 0 || r.Method == http.MethodGet || r.Method == http.MethodHead {
			return h(w, r)
		}
		if values[0] != "true" {
			return fmt.Errorf("%s %.40q: send true, or omit the header: %w", api.HeaderDryRun, values[0], core.ErrInvalid)
		}
		if !rt.has(hasDryRun) {
			return fmt.Errorf("%s has no dry run; nothing was done: %w", rt.pattern, core.ErrInvalid)
		}
		w.Header().Set(api.HeaderDryRun, "true")
		return limited(s.limiters.dry, s.dryServer().handlerOf(rt))(w, r)
	}
}

// dryMemory bounds the sessions that a dry run keeps open, in bytes.
const dryMemory = 64 << 20

// dryServer returns a copy of s for one dry run. It reads the log, keeps its
// writes in memory, and writes no audit records. So a dry run is checked and
// answered like the call itself.
func (s *Server) dryServer() *Server {
	dry := *s
	dry.cfg.Sessions = s.cfg.Sessions.WithLog(
		&dryLog{Log: s.cfg.Log, kept: map[core.SessionID][]*core.Record{}},
		&dryBlobs{Blobs: materializer.NewBlobs(s.cfg.Blobs), kept: map[core.Digest][]byte{}},
	)
	dry.cfg.Cache = materializer.NewCache(dry.cfg.Sessions, dryMemory)
	dry.cfg.Audit = nil
	return &dry
}

// A dryLog is a log over another log to which it does not write.
type dryLog struct {
	*stream.Log
	mu   sync.Mutex
	kept map[core.SessionID][]*core.Record
}

// Append keeps r if the log below would accept it. It does not check the capacity
// of the log.
func (l *dryLog) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	last, err := l.end(ctx, id)
	if err != nil {
		return 0, err
	}
	if last != after {
		return 0, fmt.Errorf("session %s ends at %d, not at %d: %w", id, last, after, core.ErrConflict)
	}
	kept := *r
	kept.Pos, kept.After = after+1, after
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[id] = append(l.kept[id], &kept)
	return kept.Pos, nil
}

// end returns the position of the session's last record, 0 for none.
func (l *dryLog) end(ctx context.Context, id core.SessionID) (core.Pos, error) {
	r, err := l.Last(ctx, id)
	if errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrCorrupt) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return r.Pos, nil
}

// Last returns the session's last record.
func (l *dryLog) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	if kept := l.of(id); len(kept) > 0 {
		r := *kept[len(kept)-1]
		return &r, nil
	}
	return l.Log.Last(ctx, id)
}

// At returns the session's record at pos.
func (l *dryLog) At(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	for _, kept := range l.of(id) {
		if kept.Pos == pos {
			r := *kept
			return &r, nil
		}
	}
	return l.Log.At(ctx, id, pos)
}

// Read yields the records of the log below and then the kept ones.
func (l *dryLog) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		below := upTo
		kept := l.of(id)
		if len(kept) > 0 {
			below = min(upTo, kept[0].After)
		}
		if after < below {
			for r, err := range l.Log.Read(ctx, id, after, below) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
		for _, k := range kept {
			r := *k
			if r.Pos > after && r.Pos <= upTo && !yield(&r, nil) {
				return
			}
		}
	}
}

func (l *dryLog) of(id core.SessionID) []*core.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[id]
}

// dryBlobs are blobs over others to which they do not write.
type dryBlobs struct {
	storage.Blobs
	mu   sync.Mutex
	kept map[core.Digest][]byte
}

// Put keeps b until the dry run ends.
func (bs *dryBlobs) Put(_ context.Context, b []byte) (core.Digest, error) {
	d := core.DigestOf(b)
	bs.mu.Lock()
	defer bs.mu.Unlock()
	bs.kept[d] = b
	return d, nil
}

// Get returns the bytes of a blob.
func (bs *dryBlobs) Get(ctx context.Context, d core.Digest) ([]byte, error) {
	bs.mu.Lock()
	b, ok := bs.kept[d]
	bs.mu.Unlock()
	if ok {
		return b, nil
	}
	return bs.Blobs.Get(ctx, d)
}

// dryRunByPath turns a request below DryRunPrefix into a dry run of the call that
// it names. The client uses the path because a node that does not know dry runs
// would ignore the header and execute the call; such a node does not have the
// path.
func dryRunByPath(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, api.DryRunPrefix) {
			h.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.URL.Path = strings.Replace(r.URL.Path, api.DryRunPrefix, api.Prefix, 1)
		r.URL.RawPath = strings.Replace(r.URL.RawPath, api.DryRunPrefix, api.Prefix, 1)
		r.Header.Set(api.HeaderDryRun, "true")
		if p := r.URL.EscapedPath(); path.Clean(p) != p {
			// The mux would redirect to the clean path outside DryRunPrefix.
			writeProblem(w, fmt.Errorf("there is no %.200q: %w", p, core.ErrNotFound))
			return
		}
		h.ServeHTTP(w, r)
	})
}
