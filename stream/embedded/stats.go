package embedded

// A Role is the role of a server in its cluster.
type Role string

// The roles of a server.
const (
	RoleSingle  Role = "single"  // not in a cluster
	RoleLeader  Role = "leader"  // leads the meta group, which creates streams
	RoleMember  Role = "member"  // follows the leader of the meta group
	RoleStopped Role = "stopped" // does not serve streams
)

// Stats are the statistics of a server.
type Stats struct {
	Role      Role
	Store     int64 // bytes of its streams
	MaxStore  int64 // limit of these bytes
	Streams   int   // with a replica on this server
	Clients   int   // connections, including those of this process
	SlowEnded int64 // connections closed since the start because they read too slowly
}

// Stats returns the server's statistics, without I/O. If the server was closed or
// has stopped, the role is RoleStopped.
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
