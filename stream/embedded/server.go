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
	// ErrInUse is returned if another node uses the directory.
	ErrInUse = errors.New("directory is in use by another node")

	// ErrClosed is returned after Close.
	ErrClosed = errors.New("embedded NATS server is closed")
)

// A Server is a running NATS server. It is safe for concurrent use.
type Server struct {
	cfg    Config // with defaults
	token  string // of clients, or ""
	ns     *server.Server
	log    *serverLog
	closed atomic.Bool
	close  func() error
	stored stored
	flush  *flusher // nil without group commit
}

// Start runs a server on cfg.Dir. When it returns, a single server is
// [Server.Ready]. It fails if a stream cannot be read, so that no client replaces a
// corrupt stream by an empty one. A cluster member only listens; use Ready to wait
// for the others.
//
// ctx bounds only the start. It does not interrupt the reading of large streams:
// Start returns after the server has released Dir. The caller must Close the Server.
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
	if err := cfg.prepareDir(); err != nil {
		return nil, err
	}
	cfg.warn()

	opts := cfg.options()
	if !opts.DontListen && cfg.Listen == "" {
		opts.Authorization = rand.Text()
	}
	s := &Server{cfg: cfg, token: opts.Authorization, log: &serverLog{log: cfg.Logger.With("from", "nats-server"), dir: cfg.Dir}}
	if s.ns, err = server.NewServer(opts); err != nil {
		return nil, err
	}
	cfg.Logger.Info("reading streams", "dir", cfg.Dir) // a damaged block may take long, or all memory
	s.ns.SetLoggerV2(s.log, false, false, false)
	s.ns.Start()
	if err := s.awaitStart(ctx); err != nil {
		s.shutdown()
		return nil, err
	}
	if cfg.GroupCommit {
		if s.flush, err = startFlusher(cfg); err != nil {
			s.shutdown()
			return nil, err
		}
	}
	s.close = sync.OnceValue(func() error {
		s.closed.Store(true)
		s.shutdown()
		var err error
		if s.flush != nil {
			err = s.flush.close()
		}
		cfg.Logger.Info("embedded NATS server closed", "dir", cfg.Dir)
		return errors.Join(err, lock.Unlock())
	})
	cfg.Logger.Info("embedded NATS server started", "dir", cfg.Dir, "name", cfg.Name, "cluster", s.ns.ClusterName(),
		"clients", s.ClientURL(), "took", time.Since(began).Round(time.Millisecond))
	return s, nil
}

// awaitStart returns once the server listens and, if it is a single server, is ready.
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
	return s.Check() // a single server has read all streams, so waiting does not help
}

func (s *Server) shutdown() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
}

// Durable waits until the messages of a stream up to pos are on disk; 0 stands for
// everything that the server answered before the call, deletions included. pos must be
// a position that the server has reported. Without Config.GroupCommit, it returns nil.
//
// After a flush failed, it returns an error until the server is started again.
func (s *Server) Durable(ctx context.Context, stream string, pos uint64) error {
	if s.flush == nil {
		return nil
	}
	return s.flush.durable(ctx, stream, pos)
}

// prepareDir checks that Dir belongs to the server, and restores its files after a
// power cut.
func (c Config) prepareDir() error {
	id := c.identity()
	if err := claimIdentity(c.Dir, id); err != nil {
		return err
	}
	restored, err := prepareFiles(c.Dir, c.GroupCommit)
	if err != nil {
		return err
	}
	if restored > 0 {
		c.Logger.Info("the last stop was unclean: files of streams are as of their last flush", "restored", restored, "dir", c.Dir)
	}
	dropped, err := dropIndexes(c.Dir)
	if err != nil {
		return fmt.Errorf("check the blocks of streams: %w", err)
	}
	if len(dropped) > 0 {
		c.Logger.Error("a block of streams has a damaged record and is cut off there; check the disk", "streams", dropped, "dir", c.Dir)
	}
	return releaseIdentity(c.Dir, id)
}

// warn logs the risks of the settings.
func (c Config) warn() {
	if c.SyncEvery > 0 {
		c.Logger.Warn("fsync is lazy: a power cut or kernel crash loses messages acknowledged since the last one; "+
			"kill -9 of the process loses nothing", "fsync_every", c.SyncEvery, "dir", c.Dir)
	}
	size, fault := diskOf(c.Dir)
	if fault != "" {
		c.Logger.Warn("the directory for streams "+fault, "dir", c.Dir)
	}
	if size > 0 && c.MaxStore > size {
		c.Logger.Warn("streams may grow beyond the disk, and JetStream stops when it is full: lower MaxStore",
			"max_store", c.MaxStore, "disk", size, "dir", c.Dir)
	}
	if c.Cluster != nil && len(c.Cluster.Routes)%2 == 0 {
		n := len(c.Cluster.Routes)
		c.Logger.Warn("a cluster with an even number of members tolerates no more failures than with one member less",
			"members", n, "may_be_lost", (n-1)/2)
	}
}

// Connect returns a connection to the server without a socket. It reconnects
// forever, waits at most 5 seconds for the handshake, and detects a hanging server
// within a minute. While it is disconnected it does not buffer: a publish fails with
// nats.ErrReconnectBufExceeded. The options in opts take precedence.
//
// The caller must close the connection before the Server; otherwise it keeps trying
// to reconnect.
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
		nats.SyncQueueLen(1024), // messages per subscription; the default allocates half a megabyte
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

// Config returns the configuration with defaults. It can start the same server again
// after Close.
func (s *Server) Config() Config { return s.cfg.withDefaults() }

// ClientURL returns the URL for TCP clients on this host, without the Token, or ""
// without Config.Listen.
func (s *Server) ClientURL() string {
	if s.cfg.Listen == "" {
		return ""
	}
	return urlOf(s.ns.Addr())
}

// urlOf returns the URL of a listener for clients on this host.
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

// Close transfers leadership to other members, closes all connections and listeners,
// stops the server and releases Dir. It may be called more than once; every call
// returns when all is done.
func (s *Server) Close() error { return s.close() }
