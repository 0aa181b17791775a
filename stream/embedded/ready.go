package embedded

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// The names JetStream gives to the account of clients without one, and to
	// the Raft group that decides on a cluster's streams.
	globalAccount = "$G"
	metaGroup     = "_meta_"

	readyPoll = 25 * time.Millisecond
)

// IsClustered reports whether the server is a member of a cluster.
func (s *Server) IsClustered() bool { return s.cfg.Cluster != nil }

// StreamLeader reports whether this server leads the named stream, so that its
// own connections reach it without a hop. A single server leads every stream.
// The answer may be old when it arrives: it is good for placing work, never for
// safety.
func (s *Server) StreamLeader(name string) bool {
	if s.closed.Load() {
		return false
	}
	return !s.IsClustered() || s.ns.JetStreamIsStreamLeader(globalAccount, name)
}

// Peers returns the names of the members that the cluster's leader sees online
// and ready to hold streams, its own included. Only the leader knows them; other
// members and a single server return nil.
func (s *Server) Peers() []string {
	if s.closed.Load() || !s.IsClustered() {
		return nil
	}
	return s.ns.JetStreamClusterPeers()
}

// Check returns nil when the server can do its work, and otherwise an error that
// says what is missing. It does not wait.
//
// A single server is ready while all its streams are there and can be written.
// A member is ready while it knows and follows a leader, or is one with a quorum
// behind it, in a cluster that all members in Cluster.Routes have joined at some
// time. So the loss of a minority makes no survivor unready, not even one that
// restarts.
//
// When a new cluster has just become ready, its leader may take a moment longer
// to learn how much room each member has, and answer the making of a stream with
// "no suitable peers" (10005): trying again mends that.
func (s *Server) Check() error {
	if s.closed.Load() {
		return ErrClosed
	}
	if err := s.log.fatal(); err != nil {
		return err
	}
	if !s.ns.JetStreamEnabled() {
		return s.stopped()
	}
	if s.IsClustered() {
		return s.checkCluster()
	}
	return s.checkJetStream()
}

// stopped says why JetStream stopped itself. A member does so when its disk is
// full or fails, and nothing but a new start makes it a member again; until then
// it passes on what its clients want to the others.
func (s *Server) stopped() error {
	why := s.log.writeError()
	if why == "" {
		why = "the lines of nats-server in the log say why"
	}
	return fmt.Errorf("JetStream has stopped itself (%s): see to the disk, and start the node anew", why)
}

// checkJetStream asks more than once where the server says that it has not started,
// for it has: it waits for what has happened and for a timer of a millisecond at once,
// and where it is kept waiting both have come, and either may be taken.
func (s *Server) checkJetStream() error {
	var said string
	for range 10 {
		h := s.ns.Healthz(&server.HealthzOptions{JSMetaOnly: s.IsClustered()})
		if h.Error == "" {
			return nil
		}
		if said = h.Error; !strings.Contains(said, "startup did not complete") {
			break
		}
	}
	return errors.New(said)
}

func (s *Server) checkCluster() error {
	members := len(s.cfg.Cluster.Routes)
	group, ok := s.metaGroup()
	if !ok {
		return errors.New("JetStream has no meta group")
	}
	if err := s.checkJetStream(); err != nil {
		if group.Leader == "" && len(group.Peers) == 0 {
			return fmt.Errorf("%w: a new cluster begins when all %d members in Cluster.Routes are up", err, members)
		}
		return err
	}
	// The group learns of its members one by one, and remembers them.
	if met := len(group.Peers) + 1; met < members {
		return fmt.Errorf("%d of the %d members in Cluster.Routes have joined", met, members)
	}
	if !s.ns.JetStreamIsLeader() {
		return nil
	}
	if online := len(s.ns.JetStreamClusterPeers()); online < group.QuorumNeeded {
		return fmt.Errorf("%d of %d cluster members are online, and %d are needed", online, members, group.QuorumNeeded)
	}
	return nil
}

func (s *Server) metaGroup() (server.RaftzGroup, bool) {
	status := s.ns.Raftz(&server.RaftzOptions{GroupFilter: metaGroup})
	if status == nil {
		return server.RaftzGroup{}, false
	}
	for _, groups := range *status {
		if group, ok := groups[metaGroup]; ok {
			return group, true
		}
	}
	return server.RaftzGroup{}, false
}

// Ready waits until Check finds nothing. When ctx ends first, or the server is
// closed, it returns what Check found last; an error of ctx's is wrapped too.
func (s *Server) Ready(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := s.Check()
		if err == nil || errors.Is(err, ErrClosed) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("embedded NATS server is not ready: %w (%w)", err, ctx.Err())
		}
	}
}
