package durablestreams

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
)

// A stream is what was derived from a session. It is a cache.
type stream struct {
	mu     sync.Mutex
	growth *core.Growth // of the entries that state was made of
	config bytestream.Config
	state  bytestream.State
	sub    subscription // if it is one

	size int64 // that counts in the Handler, whose lock guards it
}

// maxCached bounds how many streams and paths a Handler remembers, maxDerived the bytes of
// what it derived of streams. It keeps one stream even if that is larger.
const (
	maxCached  = 4096
	maxDerived = 32 << 20
)

// derivedOf returns what is known of a session.
func (h *Handler) derivedOf(id core.SessionID) *stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.streams[id]
	if s == nil {
		s = &stream{}
		h.streams[id] = s
		h.count(s, 0)
	}
	return s
}

// count sets the size of a stream, and forgets others if that is too much. The caller
// holds h.mu.
func (h *Handler) count(s *stream, size int64) {
	h.size += size - s.size
	s.size = size
	forget(h.streams, func(_ core.SessionID, other *stream) bool {
		if other != s {
			h.size -= other.size
		}
		return other != s
	}, func() bool { return len(h.streams) > maxCached || h.size > maxDerived })
	h.derived.Resize(h.size)
}

// forget removes members of m that may be removed while there is too much.
func forget[K comparable, V any](m map[K]V, may func(K, V) bool, tooMuch func() bool) {
	for k, v := range m {
		if !tooMuch() {
			return
		}
		if may(k, v) {
			delete(m, k)
		}
	}
}

// view calls f with a session and the stream that it is. Neither changes meanwhile. It
// returns a 409 if the session is that of an agent.
func (h *Handler) view(sess *engine.Session, f func(*core.State, *stream) error) error {
	s := h.derivedOf(sess.ID())
	return sess.View(func(st *core.State) error {
		if _, ok := st.Dialect.(bytestream.Dialect); !ok {
			return refuse(http.StatusConflict, "session %s is not a stream", st.ID)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		before := s.state.Size() + s.sub.size()
		if s.growth != st.Growth() {
			c, err := bytestream.ReadConfig(st.Header.Line)
			if err != nil {
				return err
			}
			s.growth, s.config, s.state, s.sub = st.Growth(), c, bytestream.State{}, subscription{}
		}
		s.state.Add(st.Entries)
		if strings.HasPrefix(s.config.Path, subscriptions) {
			s.sub.add(st.Entries)
		}
		if s.state.Size()+s.sub.size() != before {
			h.counted(st.ID, s)
		}
		return f(st, s)
	})
}

// counted counts a stream that has grown, unless it was forgotten.
func (h *Handler) counted(id core.SessionID, s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[id] == s {
		h.count(s, s.state.Size()+s.sub.size())
	}
}

// A found is what a path leads to.
type found struct {
	sess       *engine.Session // nil if there is no stream
	generation int             // of the stream, or of the next one
	gone       bool            // a stream was deleted, and its path may not be used again yet
}

// find returns the stream at a path. open is one of Config.Open and Config.Cached.
func (h *Handler) find(ctx context.Context, path string, open func(context.Context, core.SessionID) (*engine.Session, error)) (found, error) {
	h.mu.Lock()
	generation := max(h.generations[path], 1)
	h.mu.Unlock()
	var last *engine.Session // the one before, if it can be read
	for {
		sess, err := open(ctx, SessionID(path, generation))
		switch {
		case isMissing(err):
			gone := last != nil && h.hasForks(ctx, last)
			return found{generation: generation, gone: gone}, nil
		case errors.Is(err, core.ErrDeleted): // erased
			last = nil
			generation++
			continue
		case err != nil:
			return found{}, err
		}
		life, err := h.lifeOf(sess)
		if err != nil {
			return found{}, err
		}
		h.noteGeneration(path, generation)
		switch life {
		case alive:
			return found{sess: sess, generation: generation}, nil
		case trashed:
			return found{generation: generation, gone: true}, nil
		case ending: // a node stopped halfway; if this fails, the next request retries it
			_ = h.cfg.Delete(ctx, sess, core.Notice{Why: "the stream was deleted"})
		case expired:
			if err := h.end(ctx, sess, core.Notice{Why: "its time to live is over"}); err != nil {
				if isRaced(err) {
					continue // it was used meanwhile
				}
				return found{}, err
			}
		}
		last = sess
		generation++
	}
}

func (h *Handler) noteGeneration(path string, generation int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.generations[path] = generation
	forget(h.generations, func(other string, _ int) bool { return other != path },
		func() bool { return len(h.generations) > maxCached })
}

// maxEnding is how long after the end of a stream a request for its path moves its session
// to the trash. A session that is not there later was restored from it.
const maxEnding = time.Hour

// A life is whether a stream exists.
type life int

const (
	alive   life = iota
	expired      // the log does not say so yet
	deleted
	ending  // deleted, and its session is not in the trash yet
	trashed // as a session, not as a stream
)

func (h *Handler) lifeOf(sess *engine.Session) (l life, err error) {
	err = h.view(sess, func(st *core.State, s *stream) error {
		switch {
		case s.state.Deleted && st.Deleted == nil && st.LegalHold == nil && h.now().Sub(s.state.Ended) < maxEnding:
			l = ending
		case s.state.Deleted:
			l = deleted
		case st.Deleted != nil:
			l = trashed
		case h.isExpired(st.ID, s):
			l = expired
		}
		return nil
	})
	return l, err
}

// isExpired reports whether a stream's lifetime is over. h.view holds the lock.
func (h *Handler) isExpired(id core.SessionID, s *stream) bool {
	end, ok := h.endOf(id, s)
	return ok && !h.now().Before(end)
}

// endOf returns when the stream ends, if it does.
func (h *Handler) endOf(id core.SessionID, s *stream) (time.Time, bool) {
	if s.config.TTL != nil {
		used, _ := time.Parse(time.RFC3339, s.config.Time)
		if s.state.Used.After(used) {
			used = s.state.Used
		}
		if at := h.lastTouch(id); at.After(used) {
			used = at
		}
		return used.Add(time.Duration(*s.config.TTL) * time.Second), true
	}
	if s.config.ExpiresAt == "" { // as in most streams; parsing it would make an error each time
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, s.config.ExpiresAt)
	return at, err == nil
}

// maxForks bounds how many forks of a deleted stream are looked at. One that has more
// keeps its path.
const maxForks = 1000

// hasForks reports whether a stream that was deleted has forks that exist, or have forks
// themselves. A fork that cannot be read counts as one that exists. Until there is none,
// its path is not used again.
func (h *Handler) hasForks(ctx context.Context, sess *engine.Session) bool {
	ctx, cancel := detached(ctx)
	defer cancel()
	todo, seen := []*engine.Session{sess}, map[core.SessionID]bool{}
	for len(todo) > 0 {
		var forks []string
		of := string(todo[0].ID())
		_ = h.view(todo[0], func(_ *core.State, s *stream) error {
			forks = s.state.Forks
			return nil
		})
		todo = todo[1:]
		for _, id := range forks {
			id, err := core.ParseSessionID(id)
			if err != nil || seen[id] {
				continue
			}
			if len(seen) >= maxForks {
				return true
			}
			seen[id] = true
			fork, err := h.cfg.Cached(ctx, id)
			if isMissing(err) || errors.Is(err, core.ErrDeleted) {
				continue
			}
			if err != nil {
				return true
			}
			if !h.isForkOf(fork, of) {
				continue // another program wrote the line
			}
			if l, err := h.lifeOf(fork); err == nil && l == alive {
				return true
			}
			todo = append(todo, fork)
		}
	}
	return false
}

// isForkOf reports whether a session is a fork of the stream in the session of.
func (h *Handler) isForkOf(fork *engine.Session, of string) (is bool) {
	_ = h.view(fork, func(_ *core.State, s *stream) error {
		is = s.config.From != nil && s.config.From.Session == of
		return nil
	})
	return is
}

// detached returns a context of the node itself, which may use all sessions. It ends with
// ctx.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	return own, func() { stop(); cancel() }
}
