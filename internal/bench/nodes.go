package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api/client"
)

// Nodes are nodes in processes of their own, with new directories on one disk.
type Nodes struct {
	dir     string
	program []string
	list    []*node
	http    *http.Client
}

// A node is a process.
type node struct {
	url, nats string
	cmd       *exec.Cmd
	stop      io.Closer // its input, at whose end it stops
	lines     *bufio.Scanner
	log       bytes.Buffer // complete when the process has ended
}

// StartNode starts a node with group commit or another nats.sync, and a second one that
// flushes each message and serves only as the baseline. program is a command that runs a
// node with the settings that follow, without checking them, until its input ends.
func StartNode(ctx context.Context, program []string, dir, sync string) (*Nodes, error) {
	return start(program, dir, func(ns *Nodes) error {
		if err := ns.launch(ctx, "node", "--nats-sync", sync); err != nil {
			return err
		}
		return ns.launch(ctx, "raw", "--nats-sync", "0s", "--nats-listen", "127.0.0.1:0")
	})
}

// StartCluster starts three nodes with three replicas, as StartNode does. They share a
// directory of objects.
func StartCluster(ctx context.Context, program []string, dir string) (*Nodes, error) {
	return start(program, dir, func(ns *Nodes) error {
		routes, err := freeAddrs(3)
		if err != nil {
			return err
		}
		for i, route := range routes {
			name := fmt.Sprintf("n%d", i+1)
			if i > 0 {
				if err := ns.shareObjects(name); err != nil {
					return err
				}
			}
			err := ns.launch(ctx, name, "--node", name, "--nats-listen", "127.0.0.1:0", "--cluster-name", "bench",
				"--cluster-listen", route, "--cluster-routes", strings.Join(routes, ","))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func start(program []string, dir string, launch func(*Nodes) error) (*Nodes, error) {
	dir, err := os.MkdirTemp(dir, "sesslog-bench-")
	if err != nil {
		return nil, err
	}
	ns := &Nodes{dir: dir, program: program, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: manyWriters}}}
	if err = launch(ns); err == nil {
		err = ns.ready()
	}
	if err != nil {
		ns.Close()
		for _, n := range ns.list {
			err = fmt.Errorf("%w\n%s", err, &n.log)
		}
		return nil, fmt.Errorf("start nodes: %w", err)
	}
	return ns, nil
}

// launch starts a node that keeps its data in a directory of that name.
func (ns *Nodes) launch(ctx context.Context, name string, args ...string) error {
	line := slices.Concat(ns.program, []string{"--data", filepath.Join(ns.dir, name), "--listen", "127.0.0.1:0", "--logging-level", "error"}, args)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "SESS_") })
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	n := &node{cmd: cmd, stop: in, lines: bufio.NewScanner(out)}
	cmd.Stderr = &n.log
	if err := cmd.Start(); err != nil {
		return err
	}
	ns.list = append(ns.list, n)
	return nil
}

// shareObjects makes the first node's objects those of another.
func (ns *Nodes) shareObjects(name string) error {
	shared := filepath.Join(ns.dir, "n1", "blobs")
	if err := errors.Join(os.MkdirAll(shared, 0o700), os.MkdirAll(filepath.Join(ns.dir, name), 0o700)); err != nil {
		return err
	}
	return os.Symlink(shared, filepath.Join(ns.dir, name, "blobs"))
}

// startTimeout is how long nodes may take to start.
const startTimeout = time.Minute

// ready waits until all nodes are. If one stops before, it stops the others.
func (ns *Nodes) ready() error {
	late := time.AfterFunc(startTimeout, ns.stop)
	defer late.Stop()
	var g errgroup.Group
	for _, n := range ns.list {
		g.Go(func() error {
			err := n.ready()
			if err != nil {
				ns.stop()
			}
			return err
		})
	}
	return g.Wait()
}

// stop makes all nodes stop.
func (ns *Nodes) stop() {
	for _, n := range ns.list {
		_ = n.stop.Close()
	}
}

// ready waits until the node has printed its addresses.
func (n *node) ready() error {
	for n.lines.Scan() {
		if rest, ok := strings.CutPrefix(n.lines.Text(), "sessnode ready: "); ok {
			n.url, _, _ = strings.Cut(rest, " ")
		}
		if rest, ok := strings.CutPrefix(n.lines.Text(), "nats: "); ok {
			n.nats = rest
		}
		wants := slices.Contains(n.cmd.Args, "--nats-listen")
		if n.url != "" && (n.nats != "" || !wants) {
			return nil
		}
	}
	return errors.New("it stopped")
}

// Close stops the nodes and removes their directories.
func (ns *Nodes) Close() {
	ns.stop()
	for _, n := range ns.list {
		late := time.AfterFunc(stopTimeout, func() { _ = n.cmd.Process.Kill() })
		_ = n.cmd.Wait()
		late.Stop()
	}
	ns.http.CloseIdleConnections()
	_ = os.RemoveAll(ns.dir)
}

// stopTimeout is how long a node may take to stop.
const stopTimeout = 20 * time.Second

func (ns *Nodes) client(n *node) *client.Client { return &client.Client{Base: n.url, HTTP: ns.http} }

// cpu returns a function that returns the processor time of nodes so far, in seconds.
func (ns *Nodes) cpu(ctx context.Context, of ...*node) func() (float64, error) {
	return func() (sum float64, err error) {
		for _, n := range of {
			m, err := ns.client(n).Metrics(ctx, cpuMetric)
			if err != nil {
				return 0, err
			}
			sum += m[cpuMetric]
		}
		return sum, nil
	}
}

// freeAddrs returns addresses at which no program listens, with ports below those that
// systems give to connections.
func freeAddrs(n int) ([]string, error) {
	var out []string
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.N(10_000))
		l, err := net.Listen("tcp", addr) //nolint:noctx // closed at once
		if err != nil {
			continue
		}
		_ = l.Close()
		if out = append(out, addr); len(out) == n {
			return out, nil
		}
	}
	return nil, errors.New("no free ports from 20000 to 30000")
}
