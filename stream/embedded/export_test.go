package embedded

// Routes is how many connections the server has to other members.
func (s *Server) Routes() int { return s.ns.NumRoutes() }
