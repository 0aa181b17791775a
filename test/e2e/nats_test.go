package e2e_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// startNATS runs a plain NATS server.
func startNATS(t *testing.T) *server.Server {
	t.Helper()
	ns, err := server.NewServer(&server.Options{
		ServerName: "somebody-elses", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ns.Start()
	t.Cleanup(func() {
		ns.Shutdown()
		ns.WaitForShutdown()
	})
	if !ns.ReadyForConnections(harness.WaitTimeout) {
		t.Fatal("the NATS server does not listen")
	}
	return ns
}

func TestNodesShareLogOnExternalNATS(t *testing.T) {
	t.Parallel()
	ns := startNATS(t)
	bucket := harness.StartBucket(t)
	args := append(bucket.Args(), "--nats-url", ns.ClientURL())
	a := harness.StartNode(t, append(args, "--node", "a")...)
	b := harness.StartNode(t, append(args, "--node", "b")...)
	t.Logf("ready after %v and %v", a.ReadyIn, b.ReadyIn)
	if _, err := os.Stat(a.Data); err == nil {
		t.Error("a node without an embedded server created a directory")
	}

	file := harness.NewFile(t, harness.Shape{Turns: 40, Images: 5})
	other := harness.NewFile(t, harness.Shape{Turns: 5})
	id := importFile(t, a.Client(), file)
	importFile(t, b.Client(), other)
	nodes := []*harness.Node{a, b}
	for _, n := range nodes {
		harness.Await(t, "both sessions are listed", func() error {
			list, err := n.Client().List(harness.Timeout(t), catalog.Filter{})
			if err == nil && len(list.Sessions) != 2 {
				err = errors.New("not yet")
			}
			return err
		})
		sameBytes(t, "export", harness.Export(t, n.Client(), id), file.Bytes)
		sameBytes(t, "export", harness.Export(t, n.Client(), other.ID), other.Bytes)
	}

	// Both nodes append at the same time.
	clients := []*client.Client{a.Client(), b.Client()}
	callers := gather(t, id, 2, func() *client.Client { return clients[0] })
	more := gather(t, other.ID, 2, func() *client.Client { return clients[1] })
	mixed := gather(t, other.ID, 1, func() *client.Client { return clients[0] })
	for _, c := range []*crowd{callers, more} {
		c.await(20)
	}
	mixed.await(5)
	for _, c := range []*crowd{callers, more, mixed} {
		c.leave()
	}
	allThere(t, []byte(sameEverywhere(t, nodes, id).Export), callers.said())
	wellFormed(t, entriesOf(t, []byte(sameEverywhere(t, nodes, other.ID).Export)))
	sameSnapshot(t, nodes, id)

	// One dies, the other continues.
	held, err := a.Client().Claim(harness.Timeout(t), id, core.ClaimRequest{Agent: "pi", Host: "a"})
	if err != nil {
		t.Fatal(err)
	}
	a.Kill()
	taken, err := b.Client().Claim(harness.Timeout(t), id, core.ClaimRequest{Agent: "pi", Host: "b", TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	if taken.Former == nil || taken.Former.Writer != held.Writer {
		t.Errorf("the claim on b does not name the former holder: %+v", taken)
	}
	appendText(t, b.Client(), id, "through b", client.AppendOptions{Writer: taken.Writer})
	a.Start(t)
	_, err = a.Client().Append(harness.Timeout(t), id, []byte(harness.Message("user", "late")), client.AppendOptions{Writer: held.Writer})
	if !errors.Is(err, core.ErrFenced) {
		t.Errorf("the former holder appends: %v", err)
	}
	view := sameEverywhere(t, nodes, id)
	if !strings.Contains(view.Export, "through b") || !bytes.HasPrefix([]byte(view.Export), file.Bytes) {
		t.Error("the session differs from what both appended")
	}
	intact(t, a.Client(), id)
	for _, n := range nodes {
		if code := n.Terminate(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

func TestUnreachableNATSIsReported(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	addr := testkit.FreeAddrs(t, 1)[0]
	r := harness.NewNode(t, append(bucket.Args(), "--nats-url", "nats://"+addr)...).Run(t)
	if r.Code != 1 || !strings.Contains(r.Err, addr) {
		t.Errorf("a start without NATS: %s", r)
	}

	ns := startNATS(t)
	node := harness.StartNode(t, append(bucket.Args(), "--nats-url", ns.ClientURL())...)
	id := importFile(t, node.Client(), harness.NewFile(t, harness.Shape{Turns: 2}))
	ns.Shutdown()
	ns.WaitForShutdown()
	told := harness.Took(t, "the refusal without NATS")
	_, err := hastily(node.Client()).Append(harness.Timeout(t), id, []byte(harness.Message("user", "hello")), client.AppendOptions{})
	told()
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Detail.Status != 503 {
		t.Errorf("an append without NATS: %v", err)
	} else {
		t.Logf("refused: %s (%s)", e.Detail.Detail, e.Detail.Code)
	}
	status := harness.Took(t, "the status without NATS")
	s, err := node.Client().Status(harness.Timeout(t))
	status()
	if err != nil {
		t.Fatal(err)
	}
	if s.Healthy {
		t.Errorf("the node reports that it is healthy: %+v", s)
	}
	stopped := harness.Took(t, "the end of the process without NATS")
	if code := node.Terminate(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	stopped()
}
