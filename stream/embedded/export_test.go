package embedded

import "time"

// Routes returns the number of connections to other members.
func (s *Server) Routes() int { return s.ns.NumRoutes() }

// StoredAt sets the time at which the size of the streams was cached.
func (s *Server) StoredAt(at time.Time) {
	s.stored.mu.Lock()
	defer s.stored.mu.Unlock()
	s.stored.at = at
}
