package embedded

import (
	"os"
	"time"
)

// Routes returns the number of connections to other members.
func (s *Server) Routes() int { return s.ns.NumRoutes() }

// StreamLeader reports whether this server leads the named stream. A single server
// leads every stream.
func (s *Server) StreamLeader(name string) bool {
	if s.closed.Load() {
		return false
	}
	return !s.IsClustered() || s.ns.JetStreamIsStreamLeader(globalAccount, name)
}

// ClusterURL returns the URL for cluster members on this host, or "" for a single
// server.
func (s *Server) ClusterURL() string {
	if addr := s.ns.ClusterAddr(); addr != nil {
		return urlOf(addr)
	}
	return ""
}

// StoredAt sets the time at which the size of the streams was cached.
func (s *Server) StoredAt(at time.Time) {
	s.stored.mu.Lock()
	defer s.stored.mu.Unlock()
	s.stored.at = at
}

// SyncWith replaces fsync.
func (c *Config) SyncWith(sync func(*os.File) error) { c.sync = sync }
