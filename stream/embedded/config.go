package embedded

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// MaxPayload is the largest message that a Server accepts, in bytes, including
// headers.
const MaxPayload = 1 << 20

const (
	defaultName      = "sessnode"
	defaultMaxMemory = 256 << 20
	minSyncEvery     = time.Millisecond

	// routeUser is the user name of cluster members; Secret is the password.
	routeUser = "sesslog"
)

// Config is the configuration of a Server. Only Dir is required.
type Config struct {
	// Dir is the directory of the streams, on a local disk. It is created if
	// missing, with its parents, and with access for this user only.
	Dir string

	// Listen is the host:port for NATS clients over TCP, with TLS if TLS is set.
	// Port 0 picks a free one, see [Server.ClientURL]. If empty, only this process
	// can connect. Hosts other than loopback require a Token.
	Listen string

	// Token is the secret of TCP clients. If empty, anyone who can reach Listen
	// has access; this is allowed on loopback only.
	Token string

	// TLS is required from TCP clients if set: it has a certificate, or a function
	// that returns one. Without it, a Token is sent in the clear. Connections of
	// this process never use it.
	TLS *tls.Config

	// Name identifies this server in its cluster. A cluster member needs one, and
	// must keep it for the life of Dir. At most 64 of A-Z a-z 0-9 _ - and dot. The
	// default for a single server is "sessnode".
	Name string

	// Volatile are the names of streams in memory. Behind ignores them: after a restart
	// of all members their groups need every member, and there is nothing to catch up.
	Volatile []string

	// Cluster makes the server a member of a cluster. Nil means a single server.
	Cluster *Cluster

	// SyncEvery is the longest time between a publish and its fsync. Zero, the
	// default, means that a publish is on disk before it is acknowledged. Other
	// values, from 1ms, are faster, but a power cut or kernel crash loses the
	// messages acknowledged in the last SyncEvery; Start logs a warning.
	SyncEvery time.Duration

	// GroupCommit makes a single server answer before it flushes. Callers must then wait
	// for [Server.Durable] before they rely on an answer, or on a message that they read.
	// One flush serves all that wait. It excludes SyncEvery, Listen and Cluster: other
	// programs could read what is not durable.
	GroupCommit bool

	// MaxStore bounds the size of all file streams together, in bytes. A publish
	// beyond it is rejected; nothing is dropped. Zero means three quarters of
	// the space that is free or used by streams when the server starts.
	MaxStore int64

	// MaxMemory bounds the size of all memory streams together, in bytes. Zero
	// means 256 MiB.
	MaxMemory int64

	// Logger gets the messages of this package at Info, and those of the server:
	// notices at Debug, warnings and errors at their own level. Nil means
	// [slog.Default].
	Logger *slog.Logger

	// sync flushes a file; default (*os.File).Sync. Tests replace it.
	sync func(*os.File) error
}

// Cluster describes the cluster of a member. All members must agree on Name, Routes
// and Secret.
type Cluster struct {
	// Name distinguishes this cluster from others that are reached by mistake.
	// Required; it must stay the same for the life of Dir.
	Name string

	// Listen is the host:port on which the other members connect. Required.
	Listen string

	// Routes has the host:port, or nats://host:port, of every member, including
	// this one. A new cluster starts only when all of them have joined, so that a
	// part of it cannot start alone. Use 3 or 5 members.
	Routes []string

	// Secret authenticates the members to each other. If empty, anyone who can
	// reach Listen has access; this is allowed on loopback only.
	Secret string

	// TLS secures the connections between members, for both sides: it needs
	// certificates, RootCAs and ClientCAs, or functions that return them, and
	// ClientAuth should require a verified certificate. A member's certificate
	// must be valid for the host of its route. Without TLS, use a private network.
	TLS *tls.Config
}

func (c Config) withDefaults() Config {
	if c.Name == "" && c.Cluster == nil {
		c.Name = defaultName
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = defaultMaxMemory
	}
	if c.sync == nil {
		c.sync = (*os.File).Sync
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if abs, err := filepath.Abs(c.Dir); err == nil && c.Dir != "" {
		c.Dir = abs
	}
	if c.Cluster != nil { // do not share the caller's struct
		cluster := *c.Cluster
		cluster.Routes = append([]string(nil), cluster.Routes...)
		c.Cluster = &cluster
	}
	return c
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// check returns all faults of c, each with the name of its field.
func (c Config) check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
	}
	if c.Dir == "" {
		fault("Dir: is empty: set the directory of the streams")
	}
	if !namePattern.MatchString(c.Name) {
		fault("Name: %q is not 1 to 64 of A-Z a-z 0-9 _ - and dot", c.Name)
	}
	if c.Listen != "" {
		if err := checkListen(c.Listen, c.Token, "Token"); err != nil {
			fault("Listen: %w", err)
		}
	} else if c.Token != "" {
		fault("Token: is set, but Listen is empty, so no client can present it")
	}
	if c.TLS != nil && c.Listen == "" {
		fault("TLS: is set, but Listen is empty, so no client can use it")
	}
	if c.SyncEvery < 0 || c.SyncEvery > 0 && c.SyncEvery < minSyncEvery {
		fault("SyncEvery: %v is neither 0 (fsync every write) nor at least %v", c.SyncEvery, minSyncEvery)
	}
	if c.GroupCommit && (c.SyncEvery != 0 || c.Listen != "" || c.Cluster != nil) {
		fault("GroupCommit: is set together with SyncEvery, Listen or Cluster")
	}
	if c.GroupCommit && runtime.GOOS == "windows" {
		fault("GroupCommit: Windows cannot flush directories")
	}
	if c.MaxStore < 0 {
		fault("MaxStore: %d is negative", c.MaxStore)
	}
	if c.MaxMemory < 0 {
		fault("MaxMemory: %d is negative", c.MaxMemory)
	}
	if c.Cluster != nil {
		faults = append(faults, c.Cluster.check()...)
	}
	return errors.Join(faults...)
}

func (c *Cluster) check() (faults []error) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
	}
	if !namePattern.MatchString(c.Name) {
		fault("Cluster.Name: %q is not 1 to 64 of A-Z a-z 0-9 _ - and dot", c.Name)
	}
	if err := checkListen(c.Listen, c.Secret, "Cluster.Secret"); err != nil {
		fault("Cluster.Listen: %w", err)
	}
	if len(c.Routes) < 2 {
		fault("Cluster.Routes: has %d members: list all of them, including this one; "+
			"for a single server leave Cluster unset", len(c.Routes))
	}
	seen := make(map[string]bool)
	for _, route := range c.Routes {
		u, err := parseRoute(route)
		if err != nil {
			fault("Cluster.Routes: %w", err)
			continue
		}
		if seen[u.Host] {
			fault("Cluster.Routes: %s is listed twice, so the cluster would wait for a member that does not exist", u.Host)
		}
		seen[u.Host] = true
	}
	return faults
}

// checkListen rejects an address that other hosts can reach without a secret.
func checkListen(addr, secret, secretField string) error {
	host, _, err := parseListen(addr)
	if err != nil {
		return err
	}
	if secret == "" && !isLoopback(host) {
		return fmt.Errorf("%s can be reached from other hosts, and anyone there could delete all streams: "+
			"set %s, or listen on 127.0.0.1", addr, secretField)
	}
	return nil
}

// parseListen splits a host:port. Port 0 becomes the server's value for any port.
func parseListen(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not host:port", addr)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q has no port from 0 to 65535", addr)
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if n == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(n), nil
}

func parseRoute(route string) (*url.URL, error) {
	addr := strings.TrimPrefix(route, "nats://")
	host, port, err := parseListen(addr)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(host, "@/") {
		return nil, fmt.Errorf("%q is not host:port; a password belongs in Cluster.Secret", route)
	}
	if port == server.RANDOM_PORT || strings.HasPrefix(addr, ":") {
		return nil, fmt.Errorf("%q needs a host and a port", route)
	}
	return &url.URL{Scheme: "nats", Host: net.JoinHostPort(host, strconv.Itoa(port))}, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// options returns the server's options for c, which has been checked.
func (c Config) options() *server.Options {
	o := &server.Options{
		ServerName:             c.Name,
		DontListen:             true,
		Authorization:          c.Token,
		NoSigs:                 true,
		MaxPayload:             MaxPayload,
		JetStream:              true,
		StoreDir:               c.Dir,
		SyncAlways:             c.SyncEvery == 0 && !c.GroupCommit,
		SyncInterval:           c.SyncEvery,
		JetStreamMaxMemory:     c.MaxMemory,
		JetStreamMaxStore:      c.MaxStore,
		DisableJetStreamBanner: true,
	}
	if c.Listen != "" {
		o.DontListen = false
		o.Host, o.Port, _ = parseListen(c.Listen)
		if c.TLS != nil {
			o.TLS, o.TLSConfig = true, c.TLS.Clone()
		}
	}
	if c.Cluster == nil {
		return o
	}
	o.Cluster.Name = c.Cluster.Name
	o.Cluster.Host, o.Cluster.Port, _ = parseListen(c.Cluster.Listen)
	if c.Cluster.TLS != nil {
		o.Cluster.TLSConfig = c.Cluster.TLS.Clone()
	}
	for _, route := range c.Cluster.Routes {
		u, _ := parseRoute(route)
		if c.Cluster.Secret != "" {
			u.User = url.UserPassword(routeUser, c.Cluster.Secret)
		}
		o.Routes = append(o.Routes, u)
	}
	if c.Cluster.Secret != "" {
		o.Cluster.Username, o.Cluster.Password = routeUser, c.Cluster.Secret
	}
	if c.Listen == "" {
		// The server starts its routes only with a client listener, so give it one
		// that no client can use: on loopback, with a random token from Start.
		o.DontListen = false
		o.Host, o.Port = "127.0.0.1", server.RANDOM_PORT
		o.Cluster.NoAdvertise = true
	}
	return o
}
