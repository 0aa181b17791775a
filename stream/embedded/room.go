package embedded

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// diskEnd is the part of a disk whose filling counts, or all of a smaller one:
// a large disk is not full because little of it is left in proportion.
const diskEnd = 640 << 20

// Room returns how many bytes are taken and how many there are: of MaxStore, by
// streams, or of the last 640 MiB of the disk, by whatever is on it, whichever
// is nearer its end. An error says that the server cannot write to the named
// stream at all. A single server that met an error of the disk, such as none of
// it being left, acknowledges nothing on that stream until it is started anew;
// it goes on reading.
func (s *Server) Room(stream string) (used, limit int64, err error) {
	if s.closed.Load() {
		return 0, 0, ErrClosed
	}
	if s.IsClustered() && !s.ns.JetStreamEnabled() {
		return 0, 0, nil // it stopped itself, see Check; the others take what this one passes on
	}
	info, err := s.ns.Jsz(nil)
	if err != nil {
		return 0, 0, err
	}
	used, limit = int64(info.Store), info.Config.MaxStore
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
