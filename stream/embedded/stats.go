package embedded

// A Role is what a server is among those that keep the streams.
type Role string

// The roles of a server.
const (
	RoleSingle  Role = "single"  // it is the only one
	RoleLeader  Role = "leader"  // it leads its cluster, which is about streams being made, not written
	RoleMember  Role = "member"  // another member leads
	RoleStopped Role = "stopped" // it serves no streams
)

// Stats are what a server says of itself at a moment.
type Stats struct {
	Role      Role
	Store     int64 // bytes that its streams take
	MaxStore  int64 // bytes that they may take
	Streams   int   // that it holds a copy of
	Clients   int   // connections, this process's own among them
	SlowEnded int64 // connections ended since it started because they did not read in time
}

// Stats returns the server's figures. It asks nobody, and never fails: of a
// server that was closed or has stopped itself they say so.
func (s *Server) Stats() Stats {
	if s.closed.Load() || !s.ns.JetStreamEnabled() {
		return Stats{Role: RoleStopped}
	}
	f := Stats{Role: RoleSingle, Clients: s.ns.NumClients(), SlowEnded: s.ns.NumSlowConsumers()}
	switch {
	case s.IsClustered() && s.ns.JetStreamIsLeader():
		f.Role = RoleLeader
	case s.IsClustered():
		f.Role = RoleMember
	}
	if info, err := s.ns.Jsz(nil); err == nil {
		f.Store, f.MaxStore, f.Streams = int64(info.Store), info.Config.MaxStore, info.Streams
	}
	return f
}
