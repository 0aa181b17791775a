package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

func TestClusterSurvivesOneMember(t *testing.T) {
	t.Parallel()
	servers := embeddedtest.StartCluster(t, 3)
	makeStream(t, servers[0], "S", 3)
	lead := leaderOf(t, servers, "S")
	survivor := servers[(lead+1)%3]
	js := jetStream(t, survivor)
	for i := range 20 {
		publishRetrying(t, js, fmt.Sprint(i))
	}

	cfg := servers[lead].Config()
	if err := servers[lead].Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		publishRetrying(t, js, fmt.Sprint(20+i))
	}
	within(t, "the survivors to be ready", func(ctx context.Context) error {
		return errors.Join(servers[(lead+1)%3].Ready(ctx), servers[(lead+2)%3].Ready(ctx))
	})

	back := start(t, cfg)
	within(t, "the lost member to be ready", back.Ready)
	last := streamInfo(t, survivor, "S").State.LastSeq
	if last < 40 {
		t.Errorf("40 messages were acknowledged, the stream holds %d", last)
	}
	await(t, "the lost member to catch up", func() bool {
		info := streamInfo(t, survivor, "S")
		current := 0
		for _, r := range info.Cluster.Replicas {
			if r.Current && !r.Offline && r.Lag == 0 {
				current++
			}
		}
		return current == 2
	})
}

// A node waits for this before it reports ready during a rolling restart.
func TestRestartedMemberCatchesUp(t *testing.T) {
	t.Parallel()
	servers := embeddedtest.StartCluster(t, 3)
	makeStream(t, servers[0], "S", 3)
	js := jetStream(t, servers[0])
	cfg := servers[2].Config()
	if err := servers[2].Close(); err != nil {
		t.Fatal(err)
	}
	const missed = 500
	for i := range missed {
		publishRetrying(t, js, fmt.Sprint(i))
	}
	back := start(t, cfg)
	within(t, "the member to be ready", back.Ready)
	within(t, "the member to catch up", back.CatchUp)

	// The other member with all messages goes away permanently. These two still have all.
	if err := servers[1].Close(); err != nil {
		t.Fatal(err)
	}
	publishRetrying(t, js, "one more")
	if last := streamInfo(t, back, "S").State.LastSeq; last < missed+1 {
		t.Errorf("%d messages were acknowledged, the stream holds %d", missed+1, last)
	}
}

func TestMemberIsReadyOnlyWithOthers(t *testing.T) {
	t.Parallel()
	cfgs := embeddedtest.Configs(t, 3)
	for i := range cfgs {
		cfgs[i].Cluster.Secret = "s3cret"
	}
	first := start(t, cfgs[0])
	if err := first.Check(); err == nil {
		t.Error("one member of three is ready")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := first.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ready of one member of three: %v", err)
	}

	stranger := cfgs[1]
	stranger.Dir = t.TempDir()
	stranger.Cluster = &embedded.Cluster{Name: "test", Listen: cfgs[1].Cluster.Listen, Routes: cfgs[1].Cluster.Routes, Secret: "guessed"}
	wrong := start(t, stranger)
	second := start(t, cfgs[2])
	// Two of three are a quorum, but a new cluster elects no leader until all have joined.
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := second.Ready(soon); err == nil || !strings.Contains(err.Error(), "when all 3 members in Cluster.Routes are up") {
		t.Errorf("Ready of two members of three: %v", err)
	}
	if err := wrong.Check(); err == nil {
		t.Error("a server with the wrong secret joined")
	}
	if err := wrong.Close(); err != nil {
		t.Fatal(err)
	}
	third := start(t, cfgs[1])
	all := []*embedded.Server{first, second, third}
	within(t, "the cluster", func(ctx context.Context) error { return embeddedtest.AwaitCluster(ctx, all) })

	for _, s := range all {
		if !s.IsClustered() || s.ClientURL() != "" || s.ClusterURL() != "nats://"+s.Config().Cluster.Listen {
			t.Errorf("%s: clients %q, cluster %q", s.Config().Name, s.ClientURL(), s.ClusterURL())
		}
	}
	makeStream(t, third, "S", 3)
	leaderOf(t, all, "S")

	// Without a quorum the last member is not ready; with one it is ready again.
	if err := errors.Join(second.Close(), third.Close()); err != nil {
		t.Fatal(err)
	}
	await(t, "the last member to say it is alone", func() bool { return first.Check() != nil })
	back := start(t, cfgs[2])
	within(t, "two of three to be ready", func(ctx context.Context) error {
		return errors.Join(first.Ready(ctx), back.Ready(ctx))
	})
}

func TestDirectoryBelongsToItsServer(t *testing.T) {
	t.Parallel()
	member := embeddedtest.Configs(t, 3)[0]
	single := embedded.Config{Dir: t.TempDir(), Logger: quiet}
	s := start(t, single)
	publishesStill(t, s)
	closed(t, s)
	closed(t, start(t, member))

	refused := func(cfg embedded.Config, want string) {
		t.Helper()
		s, err := embedded.Start(t.Context(), cfg)
		if err == nil {
			closed(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	joining := member
	joining.Dir = single.Dir
	refused(joining, `contains the streams of a single server, which joining cluster "test" would delete`)
	leaving := single
	leaving.Dir = member.Dir
	refused(leaving, `contains a member ("n0") of cluster "test"`)
	renamed := member
	renamed.Name = "n9"
	refused(renamed, `belongs to member "n0"`)
	moved := member
	moved.Cluster = &embedded.Cluster{Name: "other", Listen: member.Cluster.Listen, Routes: member.Cluster.Routes}
	refused(moved, `belongs to cluster "test"`)

	// The same applies if another NATS server created the streams.
	remove(t, single.Dir, "node.json")
	remove(t, member.Dir, "node.json")
	refused(joining, "contains the streams of a single server")
	refused(leaving, "which cannot run as a single server")

	single.Name = "renamed" // a single server's name does not matter
	s = start(t, single)
	if got := message(t, s, "STILL", 1); got != "x" {
		t.Errorf("the message is %q", got)
	}
	closed(t, s)
	empty := embedded.Config{Dir: t.TempDir(), Logger: quiet}
	closed(t, start(t, empty))
	joining.Dir = empty.Dir // no stream exists, so nothing can be lost
	closed(t, start(t, joining))

	write(t, single.Dir, "node.json", `{"version":3}`)
	refused(single, "use a newer program")
	write(t, single.Dir, "node.json", `{`)
	refused(single, "node.json")
}

// leaderOf waits until exactly one server leads the stream, and returns it.
func leaderOf(t *testing.T, servers []*embedded.Server, stream string) (lead int) {
	t.Helper()
	await(t, "one leader of "+stream, func() bool {
		n := 0
		for i, s := range servers {
			if s.StreamLeader(stream) {
				lead = i
				n++
			}
		}
		return n == 1
	})
	return lead
}

// publishRetrying retries a publish until it is acknowledged, because of leader
// changes. A lost response may duplicate the message.
func publishRetrying(t *testing.T, js jetstream.JetStream, body string) {
	t.Helper()
	await(t, "message "+body+" to be acknowledged", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := js.Publish(ctx, "s.x", []byte(body))
		return err == nil
	})
}

func within(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Fatalf("waited for %s: %v", what, err)
	}
}
