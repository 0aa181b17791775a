package embedded

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// diskEnd is the part of a disk that counts, or all of a smaller disk. A large disk
// is not full because a small proportion of it is free.
const diskEnd = 640 << 20

const (
	// storedAge is how long the size of the streams is cached, and storedAgeFull the
	// same when they use more than storedFull of MaxStore.
	storedAge     = time.Second
	storedAgeFull = 250 * time.Millisecond
	storedFull    = 0.8
)

// A stored caches the size of all streams. Reading it visits every stream, and Room
// is called for every stream.
type stored struct {
	mu          sync.Mutex
	at          time.Time
	used, limit int64
}

// get returns the size of the streams on ns, and its limit.
func (r *stored) get(ns *server.Server) (used, limit int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	age := storedAge
	if float64(r.used) >= storedFull*float64(r.limit) {
		age = storedAgeFull
	}
	if time.Since(r.at) < age {
		return r.used, r.limit, nil
	}
	info, err := ns.Jsz(nil)
	if err != nil {
		return 0, 0, err
	}
	r.at, r.used, r.limit = time.Now(), int64(info.Store), info.Config.MaxStore
	return r.used, r.limit, nil
}

// Capacity returns the used bytes and the limit: of the streams and MaxStore, or of the
// last 640 MiB of the disk, whichever is fuller. An error means that the server
// cannot write to the named stream. After a disk error, such as a full disk, a
// single server acknowledges nothing on that stream until it is restarted; it still
// serves reads. The size of the streams may be up to a second old, and 250 ms if
// they use more than 80 % of MaxStore.
func (s *Server) Capacity(stream string) (used, limit int64, err error) {
	if s.closed.Load() {
		return 0, 0, ErrClosed
	}
	if s.IsClustered() && !s.ns.JetStreamEnabled() {
		return 0, 0, nil // it has stopped, see Check; it forwards requests to the others
	}
	if used, limit, err = s.stored.get(s.ns); err != nil {
		return 0, 0, err
	}
	if free, size, ok := Disk(s.cfg.Dir); ok {
		end := min(size, diskEnd)
		taken := end - min(free, end)
		if limit <= 0 || float64(taken)*float64(limit) > float64(used)*float64(end) {
			used, limit = taken, end
		}
	}
	if s.IsClustered() {
		return used, limit, nil // another member may be able to write
	}
	if s.flush != nil {
		if err := s.flush.check(); err != nil {
			return used, limit, err
		}
	}
	// Ignore other errors of Healthz: on a busy host, it may report that the server is
	// not ready within a millisecond.
	h := s.ns.Healthz(&server.HealthzOptions{Account: globalAccount, Stream: stream})
	if strings.Contains(h.Error, "write error") {
		return used, limit, fmt.Errorf("%s; free disk space and restart the node", h.Error)
	}
	return used, limit, nil
}
