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
	// JetStream's names of the default account, and of the Raft group that manages
	// a cluster's streams.
	globalAccount = "$G"
	metaGroup     = "_meta_"

	readyPoll = 25 * time.Millisecond
)

// IsClustered reports whether the server is a member of a cluster.
func (s *Server) IsClustered() bool { return s.cfg.Cluster != nil }

// Peers returns the names of the members that are online and ready for streams,
// including this one. Only the cluster's leader knows them; other members and a
// single server return nil.
func (s *Server) Peers() []string {
	if s.closed.Load() || !s.IsClustered() {
		return nil
	}
	return s.ns.JetStreamClusterPeers()
}

// Check returns nil if the server is ready, and otherwise an error with the reason.
// It does not wait.
//
// A single server is ready if all its streams are available and writable. A member
// is ready if it follows a leader, or leads a quorum, and all members in
// Cluster.Routes have joined the cluster at some time. So the loss of a minority
// does not make the other members unready, even if they restart.
//
// In a new cluster, creating a stream may fail with "no suitable peers" (10005)
// until the leader has learned the capacity of the members; retry it.
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
	if s.flush != nil {
		if err := s.flush.check(); err != nil {
			return err
		}
	}
	if s.IsClustered() {
		return s.checkCluster()
	}
	return s.checkJetStream()
}

// stopped returns why JetStream stopped. A member stops when its disk is full or
// fails. Until it is restarted, it forwards requests to the others.
func (s *Server) stopped() error {
	cause := s.log.writeError()
	if cause == "" {
		cause = "see the messages of nats-server in the log"
	}
	return fmt.Errorf("JetStream has stopped (%s): fix the disk, and restart the node", cause)
}

// checkJetStream retries if the server reports that it has not started. On a busy
// host this may be wrong, because Healthz races the event against a timer of a
// millisecond.
func (s *Server) checkJetStream() error {
	var fault string
	for range 10 {
		h := s.ns.Healthz(&server.HealthzOptions{JSMetaOnly: s.IsClustered()})
		if h.Error == "" {
			return nil
		}
		fault = h.Error
		if !strings.Contains(fault, "startup did not complete") && !strings.Contains(fault, "failed to be ready for connections") {
			break
		}
	}
	return errors.New(fault)
}

func (s *Server) checkCluster() error {
	members := len(s.cfg.Cluster.Routes)
	group, ok := s.metaGroup()
	if !ok {
		return errors.New("JetStream has no meta group")
	}
	if err := s.checkJetStream(); err != nil {
		if group.Leader == "" && len(group.Peers) == 0 {
			return fmt.Errorf("%w: a new cluster starts when all %d members in Cluster.Routes are up", err, members)
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
		return fmt.Errorf("%d of %d cluster members are online, %d are required", online, members, group.QuorumNeeded)
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

// Ready waits until Check returns nil. If ctx ends first, or the server is closed or
// its directory damaged, it returns the last error of Check; it also wraps the error of
// ctx.
func (s *Server) Ready(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := s.Check()
		if err == nil || errors.Is(err, ErrClosed) || errors.Is(err, ErrDamaged) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("embedded NATS server is not ready: %w (%w)", err, ctx.Err())
		}
	}
}
