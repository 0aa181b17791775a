package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// While NATS is down, a node refuses requests within the caller's timeout, with a
// definite outcome. Once NATS is back the same request succeeds, and is stored once.
func TestNodeWithoutNATSRefusesCleanly(t *testing.T) {
	t.Parallel()
	opts := &server.Options{
		ServerName: "comes-and-goes", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
	}
	start := func() *server.Server {
		t.Helper()
		ns, err := server.NewServer(opts)
		if err != nil {
			t.Fatal(err)
		}
		ns.Start()
		if !ns.ReadyForConnections(harness.WaitTimeout) {
			t.Fatal("the NATS server does not listen")
		}
		return ns
	}
	stop := func(ns *server.Server) {
		ns.Shutdown()
		ns.WaitForShutdown()
	}
	ns := start()
	opts.Port = ns.Addr().(*net.TCPAddr).Port
	c := harness.StartNode(t, append(harness.StartBucket(t).Args(), "--nats-url", ns.ClientURL())...).Client()
	ctx := harness.Timeout(t)
	const id = "away-session"
	if _, err := c.Create(ctx, api.Create{ID: id, CWD: "/w"}); err != nil {
		t.Fatal(err)
	}
	put := func(c *client.Client, within time.Duration, name string) (core.Receipt, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return c.Append(ctx, id, fmt.Appendf(nil, `{"type":"message","id":%q,"message":{"role":"user","content":"hi"}}`, name), client.AppendOptions{})
	}
	if _, err := put(c, 10*time.Second, "before"); err != nil {
		t.Fatal(err)
	}

	stop(ns)
	harness.Await(t, "the node notices", func() error {
		st, err := c.Status(ctx)
		if err == nil && st.Healthy {
			err = errors.New("not yet")
		}
		return err
	})
	var refused sync.WaitGroup
	for i := range 3 {
		refused.Go(func() {
			_, err := put(hastily(c), 25*time.Second, fmt.Sprint("refused", i))
			answer, ok := errors.AsType[*client.Error](err)
			if !ok || !errors.Is(answer, core.ErrUnavailable) || errors.Is(answer, core.ErrUncertain) {
				t.Errorf("without NATS: %v", err)
			}
		})
	}
	refused.Wait()
	waiting := make(chan error, 1)
	go func() {
		_, err := put(c, 25*time.Second, "waited")
		waiting <- err
	}()

	ns = start()
	t.Cleanup(func() { stop(ns) })
	if err := <-waiting; err != nil {
		t.Errorf("an append that had time until NATS was back: %v", err)
	}
	harness.Await(t, "the node goes on", func() error {
		_, err := put(c, 10*time.Second, "refused0")
		return err
	})
	es := entriesOf(t, harness.Export(t, c, id))
	var ids []string
	for _, e := range es {
		ids = append(ids, e.ID)
	}
	if got := fmt.Sprint(ids); got != "[before waited refused0]" {
		t.Errorf("the session has %s", got)
	}
}
