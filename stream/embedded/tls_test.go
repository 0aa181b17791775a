package embedded_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/test/pki"
)

func TestClientsMustUseTLS(t *testing.T) {
	t.Parallel()
	ours, others := pki.New(t, "ours"), pki.New(t, "others")
	cfg := embedded.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "s3cret", Logger: quiet,
		TLS: ours.Client(t, ours.Pair(t, "server")),
	}
	s := start(t, cfg)
	connect := func(opts ...nats.Option) error {
		nc, err := nats.Connect(s.ClientURL(), append([]nats.Option{nats.Token("s3cret"), nats.MaxReconnects(0)}, opts...)...)
		if err == nil {
			nc.Close()
		}
		return err
	}
	if err := connect(nats.Secure(ours.Client(t))); err != nil {
		t.Errorf("a client that trusts the server: %v", err)
	}
	if err := connect(nats.Secure(others.Client(t))); err == nil {
		t.Error("a client that does not trust the server is connected")
	}
	if err := connect(nats.Secure(ours.Client(t)), nats.Token("guessed")); err == nil {
		t.Error("a client with a wrong token is connected")
	}
	publishesStill(t, s) // not required within this process
}

func TestClusterMembersMustUseTLS(t *testing.T) {
	t.Parallel()
	ours, others := pki.New(t, "ours"), pki.New(t, "others")
	mutual := func(a *pki.Authority, pair pki.Pair) *tls.Config {
		c := a.Client(t, pair)
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, c.RootCAs
		return c
	}
	cfgs := embeddedtest.Configs(t, 3)
	for i := range cfgs {
		cfgs[i].Cluster.TLS = mutual(ours, ours.Pair(t, cfgs[i].Name))
	}
	// A member with an untrusted certificate, and one without TLS, are rejected.
	for name, change := range map[string]func(*embedded.Cluster){
		"another authority's": func(c *embedded.Cluster) { c.TLS = mutual(others, others.Pair(t, "n1")) },
		"no TLS":              func(c *embedded.Cluster) { c.TLS = nil },
	} {
		var refusals refusals
		host := cfgs[0]
		host.Logger = slog.New(slog.NewTextHandler(&refusals, &slog.HandlerOptions{Level: slog.LevelDebug}))
		first := start(t, host)
		stranger := cfgs[1]
		stranger.Dir = t.TempDir()
		cluster := *cfgs[1].Cluster
		change(&cluster)
		stranger.Cluster = &cluster
		wrong := start(t, stranger)
		third := start(t, cfgs[2])
		await(t, "those that know each other to have met, and the stranger to have been refused", func() bool {
			return first.Routes() > 0 && third.Routes() > 0 && refusals.any()
		})
		if wrong.Routes() != 0 {
			t.Errorf("%s: the member joined", name)
		}
		if err := errors.Join(wrong.Close(), first.Close(), third.Close()); err != nil {
			t.Fatal(err)
		}
	}
	var all []*embedded.Server
	for _, cfg := range cfgs {
		all = append(all, start(t, cfg))
	}
	within(t, "the cluster", func(ctx context.Context) error { return embeddedtest.AwaitCluster(ctx, all) })
	makeStream(t, all[0], "S", 3)
	publishRetrying(t, jetStream(t, all[1]), "x")
	if !strings.HasPrefix(all[0].ClusterURL(), "nats://") {
		t.Errorf("the cluster's address is %s", all[0].ClusterURL())
	}
}

// refusals collects the log of rejected connections.
type refusals struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *refusals) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *refusals) any() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.text.String(), "TLS route handshake error")
}
