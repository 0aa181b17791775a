package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

var (
	// ErrInUse says that another node runs on the directory.
	ErrInUse = errors.New("directory is in use by another node")

	// ErrClosed says that the Server was closed.
	ErrClosed = errors.New("embedded NATS server is closed")
)

// A Server is a running NATS server. Its methods may be called from several
// goroutines.
type Server struct {
	cfg    Config // with its defaults
	token  string // what every client must present, or ""
	ns     *server.Server
	log    *serverLog
	closed atomic.Bool
	close  func() error
	stored stored
}

// Start runs a server on cfg.Dir. A single server is [Server.Ready] when Start
// returns, with all it ever acknowledged; one whose streams cannot all be read
// does not start, lest somebody make an empty one in the place of the damaged.
// A cluster member only listens by then: its Ready waits for the others.
//
// ctx bounds the start alone. Reading large streams is not interrupted: Start
// returns when the server has let go of Dir. The caller must Close the Server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("embedded NATS server: %w", err)
	}
	s, err := start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("embedded NATS server on %s: %w", cfg.Dir, err)
	}
	return s, nil
}

func start(ctx context.Context, cfg Config) (_ *Server, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := time.Now()
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Unlock())
		}
	}()
	if err := claimIdentity(cfg.Dir, cfg.identity()); err != nil {
		return nil, err
	}
	cfg.warn()

	opts := cfg.options()
	if !opts.DontListen && cfg.Listen == "" {
		opts.Authorization = rand.Text()
	}
	s := &Server{cfg: cfg, token: opts.Authorization, log: &serverLog{log: cfg.Logger.With("from", "nats-server")}}
	if s.ns, err = server.NewServer(opts); err != nil {
		return nil, err
	}
	s.ns.SetLoggerV2(s.log, false, false, false)
	s.ns.Start()
	if err := s.awaitStart(ctx); err != nil {
		s.shutdown()
		return nil, err
	}
	s.close = sync.OnceValue(func() error {
		s.closed.Store(true)
		s.shutdown()
		cfg.Logger.Info("embedded NATS server closed", "dir", cfg.Dir)
		return lock.Unlock()
	})
	cfg.Logger.Info("embedded NATS server started", "dir", cfg.Dir, "name", cfg.Name, "cluster", s.ns.ClusterName(),
		"clients", s.ClientURL(), "took", time.Since(began).Round(time.Millisecond))
	return s, nil
}

// awaitStart returns once the server listens and, when it is alone, is ready.
func (s *Server) awaitStart(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := s.log.fatal(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.ns.ReadyForConnections(time.Millisecond) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	if s.IsClustered() {
		return nil
	}
	return s.Check() // a single server has read everything by now; time mends nothing
}

func (s *Server) shutdown() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
}

// warn names what the settings put at risk.
func (c Config) warn() {
	if c.SyncEvery > 0 {
		c.Logger.Warn("fsync is lazy: a power cut or kernel crash loses what was acknowledged since the last one; "+
			"kill -9 of the process loses nothing", "fsync_every", c.SyncEvery, "dir", c.Dir)
	}
	size, doubt := diskOf(c.Dir)
	if doubt != "" {
		c.Logger.Warn("the directory for streams "+doubt, "dir", c.Dir)
	}
	if size > 0 && c.MaxStore > size {
		c.Logger.Warn("streams may grow beyond the disk, and JetStream stops when it is full: lower MaxStore",
			"max_store", c.MaxStore, "disk", size, "dir", c.Dir)
	}
	if c.Cluster != nil && len(c.Cluster.Routes)%2 == 0 {
		n := len(c.Cluster.Routes)
		c.Logger.Warn("a cluster with an even number of members survives no more losses than one with one member less",
			"members", n, "may_be_lost", (n-1)/2)
	}
}

// Connect returns a connection to the server that uses no socket. It reconnects
// forever, waits at most 5 seconds for an answer to its handshake, and notices
// a server that hangs within a minute. While it is not connected it sends
// nothing and keeps nothing: a publish is nats.ErrReconnectBufExceeded. The options in opts come last and win.
//
// The connection is the caller's to close, before the Server: after Close it
// would go on trying.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	all := []nats.Option{
		nats.Name(s.cfg.Name),
		nats.InProcessServer(s.ns),
		nats.IgnoreDiscoveredServers(),
		nats.Timeout(5 * time.Second),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1),
		nats.SyncQueueLen(1024), // room for so many messages in a subscription; the default takes half a megabyte
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.PingInterval(20 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DrainTimeout(10 * time.Second),
	}
	if s.token != "" {
		all = append(all, nats.Token(s.token))
	}
	nc, err := nats.Connect("", append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to embedded NATS server: %w", err)
	}
	return nc, nil
}

// Config returns what the server was started with, defaults filled in. Starting
// it again after Close gives the same server.
func (s *Server) Config() Config { return s.cfg.withDefaults() }

// ClientURL returns where a client on this host reaches the server over TCP, or
// "" without Config.Listen. The Token is not part of it.
func (s *Server) ClientURL() string {
	if s.cfg.Listen == "" {
		return ""
	}
	return urlOf(s.ns.Addr())
}

// ClusterURL returns where a cluster member on this host reaches the server, or
// "" for a single server.
func (s *Server) ClusterURL() string {
	if addr := s.ns.ClusterAddr(); addr != nil {
		return urlOf(addr)
	}
	return ""
}

// urlOf names a listener from this host's point of view.
func urlOf(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return ""
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "nats://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// Close hands leadership to other members, closes every connection and the
// listeners, stops the server and gives Dir free. Streams stay as they are.
// Closing twice is harmless; every call returns when all is done.
func (s *Server) Close() error { return s.close() }
