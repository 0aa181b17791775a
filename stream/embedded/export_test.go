package embedded

import "time"

// Routes is how many connections the server has to other members.
func (s *Server) Routes() int { return s.ns.NumRoutes() }

// StoredAt has the server think that it found out then what its streams take.
func (s *Server) StoredAt(at time.Time) {
	s.stored.mu.Lock()
	defer s.stored.mu.Unlock()
	s.stored.at = at
}
