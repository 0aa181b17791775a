package s3server

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// A Wire is a line to a Server that can be cut or go silent. TLS goes through it
// untouched, so what breaks is what breaks in a network. Its methods may be
// called from several goroutines.
type Wire struct {
	Endpoint string // a URL, in place of the Server's

	to string
	ln net.Listener

	mu    sync.Mutex
	fault Fault
	left  int // connections that are still to meet the fault; below 0 for all
	met   int
	open  map[net.Conn]bool
	done  bool
	work  sync.WaitGroup
}

// A Fault is what a Wire does to connections. The zero Fault is none.
type Fault struct {
	Up, Down int64 // cut behind that many bytes to or from the server; 0: not at all
	Hang     bool  // take what comes and answer nothing
	Times    int   // only the next so many connections; 0 for all
}

// Wire returns a new line to s, for the length of a test.
func (s *Server) Wire(t testing.TB) *Wire {
	t.Helper()
	host, _, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{Endpoint: "https://" + ln.Addr().String(), to: s.addr, ln: ln, open: map[net.Conn]bool{}}
	w.work.Go(w.run)
	t.Cleanup(w.stop)
	return w
}

// Do has the wire do f from now on. Connections that are open break.
func (w *Wire) Do(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.left, w.met = f, f.Times, 0
	if f.Times == 0 {
		w.left = -1
	}
	w.breakAll()
}

// Met returns how many connections met the fault since it was set.
func (w *Wire) Met() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.met
}

func (w *Wire) stop() {
	_ = w.ln.Close()
	w.mu.Lock()
	w.done = true
	w.breakAll()
	w.mu.Unlock()
	w.work.Wait()
}

func (w *Wire) breakAll() {
	for c := range w.open {
		_ = c.Close()
	}
}

func (w *Wire) run() {
	for {
		c, err := w.ln.Accept()
		if err != nil {
			return
		}
		w.work.Go(func() { w.carry(c) })
	}
}

// next is what a new connection meets.
func (w *Wire) next() Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 || w.fault == (Fault{}) {
		return Fault{}
	}
	w.left--
	w.met++
	return w.fault
}

// keep has c broken by Do and stop, and returns how to let go of it.
func (w *Wire) keep(c net.Conn) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[c] = true
	if w.done {
		_ = c.Close()
	}
	return func() {
		_ = c.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, c)
	}
}

func (w *Wire) carry(client net.Conn) {
	defer w.keep(client)()
	f := w.next()
	if f.Hang {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer w.keep(server)()
	var both sync.WaitGroup
	both.Go(func() { pass(server, client, f.Up); _ = client.Close(); _ = server.Close() })
	both.Go(func() { pass(client, server, f.Down); _ = client.Close(); _ = server.Close() })
	both.Wait()
}

// pass copies until one side ends, or most bytes have passed.
func pass(to io.Writer, from io.Reader, most int64) {
	if most > 0 {
		from = io.LimitReader(from, most)
	}
	_, _ = io.Copy(to, from)
}

// BucketOf returns the directory of a bucket on the server's disk: a test that
// removes it takes the bucket away under its users.
func (s *Server) BucketOf(name string) string {
	return s.dataDir() + "/" + strings.Trim(name, "/")
}
