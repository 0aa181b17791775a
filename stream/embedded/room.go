package embedded

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// diskEnd is the part of a disk whose filling counts, or all of a smaller one:
// a large disk is not full because little of it is left in proportion.
const diskEnd = 640 << 20

const (
	// storedAge is how old what is known of MaxStore may get, and storedAgeFull the
	// same once so much of it is taken that it is a matter to warn of: streams grow
	// by what clients send, and the rest of it is for that while.
	storedAge     = time.Second
	storedAgeFull = 250 * time.Millisecond
	storedFull    = 0.8
)

// A stored is what all streams take together, as it was a moment ago. To ask a
// server for that takes a look at each of its streams, and Room is called for each
// of them.
type stored struct {
	mu          sync.Mutex
	at          time.Time
	used, limit int64
}

// look returns what streams take and may take on ns.
func (r *stored) look(ns *server.Server) (used, limit int64, err error) {
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

// Room returns how many bytes are taken and how many there are: of MaxStore, by
// streams, or of the last 640 MiB of the disk, by whatever is on it, whichever
// is nearer its end. An error says that the server cannot write to the named
// stream at all. A single server that met an error of the disk, such as none of
// it being left, acknowledges nothing on that stream until it is started anew;
// it goes on reading. What the streams take may be a second old, and a quarter of
// one where that is four fifths of what they may.
func (s *Server) Room(stream string) (used, limit int64, err error) {
	if s.closed.Load() {
		return 0, 0, ErrClosed
	}
	if s.IsClustered() && !s.ns.JetStreamEnabled() {
		return 0, 0, nil // it stopped itself, see Check; the others take what this one passes on
	}
	if used, limit, err = s.stored.look(s.ns); err != nil {
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
	// Healthz has other things to say, too: on a busy machine, that a server is
	// not ready within a millisecond.
	h := s.ns.Healthz(&server.HealthzOptions{Account: globalAccount, Stream: stream})
	if strings.Contains(h.Error, "write error") {
		return used, limit, fmt.Errorf("%s; make room on its disk and start the node anew", h.Error)
	}
	return used, limit, nil
}
