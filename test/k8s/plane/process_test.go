package plane_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// readyTimeout leaves time for a busy machine.
const readyTimeout = 3 * time.Minute

// A process is a started program and its log.
type process struct {
	name string
	log  string        // the file
	done chan struct{} // closed once it has ended
}

// launch starts a program in a directory, in which its log is, too. It is
// killed when the test ends: all that it has made goes with the directory.
func launch(t *testing.T, dir, name string, args ...string) *process {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the program has its own
	cmd := exec.Command(filepath.Join(bin, name), args...)
	// Nothing from the environment of the tests: no proxy, no kubeconfig.
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the log says why
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it fails only if the process has ended
		<-p.done
		if t.Failed() {
			t.Logf("the end of what %s says:\n%s", name, p.tail(4<<10))
		}
	})
	return p
}

// tail is the end of the log.
func (p *process) tail(n int) string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-n):])
}

// ready waits until probe succeeds. It returns an error if the program ends
// before that.
func (p *process) ready(t *testing.T, probe func(context.Context) error) error {
	t.Helper()
	var died error
	await(t, p.name+" is ready", func(ctx context.Context) error {
		select {
		case <-p.done:
			died = fmt.Errorf("%s ended:\n%s", p.name, p.tail(4<<10))
			return nil
		default:
			return probe(ctx)
		}
	})
	return died
}

// listening starts a program on a free port of the loopback interface. If another
// process takes the port before the start, listening tries another one.
func listening(t *testing.T, start func(port string) *process, probe func(ctx context.Context, port string) error) (port string) {
	t.Helper()
	for tries := 1; ; tries++ {
		port := freePort(t)
		p := start(port)
		err := p.ready(t, func(ctx context.Context) error { return probe(ctx, port) })
		if err == nil {
			return port
		}
		if tries == 5 || !strings.Contains(err.Error(), "address already in use") {
			t.Fatal(err)
		}
	}
}

// freePort is one below those that Linux gives to outgoing connections.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000)))
		if err != nil {
			continue
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		_ = l.Close()
		return port
	}
	t.Fatal("no port is free")
	return ""
}

// await waits until look returns no error.
func await(t *testing.T, what string, look func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := look(ctx)
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, readyTimeout, err)
		}
	}
}
