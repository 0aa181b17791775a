package s3server

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// A Wire is a TCP proxy to a Server that injects network faults. It does not
// terminate TLS. It is safe for concurrent use.
type Wire struct {
	Endpoint string // the URL to use instead of the Server's

	to string
	ln net.Listener

	mu    sync.Mutex
	fault Fault
	left  int // further connections with the fault; negative means all
	met   int
	open  map[net.Conn]bool
	done  bool
	work  sync.WaitGroup
}

// A Fault is what a Wire does to connections. The zero Fault is none.
type Fault struct {
	Up, Down int64 // close the connection after this many bytes to or from the server; 0 means never
	Hang     bool  // read requests and never respond
	Times    int   // affect only this many connections; 0 means all
}

// Wire returns a new Wire to s that works until the test ends.
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

// Do sets the fault of new connections, and closes the open ones.
func (w *Wire) Do(f Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.left, w.met = f, f.Times, 0
	if f.Times == 0 {
		w.left = -1
	}
	w.breakAll()
}

// Met returns how many connections had the fault since it was set.
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

// next returns the fault of a new connection.
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

// keep registers c to be closed by Do and stop. release closes and unregisters it.
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

// pass copies until one side ends, or limit bytes were copied.
func pass(to io.Writer, from io.Reader, limit int64) {
	if limit > 0 {
		from = io.LimitReader(from, limit)
	}
	_, _ = io.Copy(to, from)
}

// BucketOf returns the directory of a bucket on the server's disk, for tests that
// remove it.
func (s *Server) BucketOf(name string) string {
	return s.dataDir() + "/" + strings.Trim(name, "/")
}
