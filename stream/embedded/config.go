package embedded

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// MaxPayload is the size of the largest message a Server takes, in bytes,
// headers included.
const MaxPayload = 1 << 20

const (
	defaultName      = "sessnode"
	defaultMaxMemory = 256 << 20
	minSyncEvery     = time.Millisecond

	// routeUser is the user name under which cluster members show the Secret.
	routeUser = "sesslog"
)

// Config is what a Server needs to know. Only Dir is required.
type Config struct {
	// Dir is the directory that holds the streams. It is made when absent, with
	// its parents, readable by this user only. It must be a local disk.
	Dir string

	// Listen is the host:port on which NATS clients are served over TCP, with TLS
	// where that is set. Port 0 picks a free one, see [Server.ClientURL]. Empty means none:
	// only this process can connect. Any host but loopback needs a Token.
	Listen string

	// Token is what a TCP client must present. Empty lets anyone in who can
	// reach Listen, and is refused unless Listen is on loopback.
	Token string

	// TLS is what TCP clients have to speak: it holds a certificate, or a function
	// that gives one. Nil means none, and then a Token crosses the wire in the
	// clear. Connections of this process never use it.
	TLS *tls.Config

	// Name tells this server from the others of its cluster, where it is
	// required and must stay the same for the life of Dir. At most 64 of
	// A-Z a-z 0-9 _ - and dot. The default for a single server is "sessnode".
	Name string

	// Cluster makes the server a member of a cluster. Nil means a single server.
	Cluster *Cluster

	// SyncEvery is the longest time between a publish and its fsync. Zero, the
	// default, means that a publish is on disk before it is acknowledged.
	// Anything else, from 1ms up, trades the last SyncEvery of acknowledged
	// messages at a power cut or a kernel crash for speed, and is warned about.
	SyncEvery time.Duration

	// MaxStore bounds what all file streams together may hold, in bytes. A
	// publish beyond it is refused; nothing is dropped. Zero means three
	// quarters of what is free or already used by streams when the server starts.
	MaxStore int64

	// MaxMemory bounds what all memory streams together may hold, in bytes. Zero
	// means 256 MiB.
	MaxMemory int64

	// Logger gets this package's own few lines at Info, the server's notices at
	// Debug, its warnings and errors at their own level. Nil means
	// [slog.Default].
	Logger *slog.Logger
}

// Cluster says which cluster a server is a member of. All members must agree on
// Name, Routes and Secret.
type Cluster struct {
	// Name tells this cluster from others that might be reached by mistake.
	// Required; it must stay the same for the life of Dir.
	Name string

	// Listen is the host:port on which the other members connect. Required.
	Listen string

	// Routes holds the host:port, or nats://host:port, of every member, this one
	// included. Its length is how many members must have met before a new
	// cluster does anything, which is what keeps a part of it from starting
	// alone. 3 or 5 are good numbers.
	Routes []string

	// Secret is what a member must present to the others. Empty lets in whoever
	// can reach Listen, and is refused unless Listen is on loopback.
	Secret string

	// TLS is what members speak to each other. It is for both sides of a
	// connection: certificates, RootCAs and ClientCAs are needed, or functions
	// that give them, and ClientAuth should require a verified certificate. The
	// certificate of a member must be good for the host of its route. Nil means
	// none: then routes belong in a private network.
	TLS *tls.Config
}

func (c Config) withDefaults() Config {
	if c.Name == "" && c.Cluster == nil {
		c.Name = defaultName
	}
	if c.MaxMemory == 0 {
		c.MaxMemory = defaultMaxMemory
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if abs, err := filepath.Abs(c.Dir); err == nil && c.Dir != "" {
		c.Dir = abs
	}
	if c.Cluster != nil { // the caller's struct stays the caller's
		cluster := *c.Cluster
		cluster.Routes = append([]string(nil), cluster.Routes...)
		c.Cluster = &cluster
	}
	return c
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// check reports every fault of c at once, each under the name of its field.
func (c Config) check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf(format, args...))
	}
	if c.Dir == "" {
		fault("Dir: is empty: name the directory that is to hold the streams")
	}
	if !namePattern.MatchString(c.Name) {
		fault("Name: %q is not 1 to 64 of A-Z a-z 0-9 _ - and dot", c.Name)
	}
	if c.Listen != "" {
		if err := checkListen(c.Listen, c.Token, "Token"); err != nil {
			fault("Listen: %w", err)
		}
	} else if c.Token != "" {
		fault("Token: is set, but Listen is empty, so nobody could present it")
	}
	if c.TLS != nil && c.Listen == "" {
		fault("TLS: is set, but Listen is empty, so nobody would speak it")
	}
	if c.SyncEvery < 0 || c.SyncEvery > 0 && c.SyncEvery < minSyncEvery {
		fault("SyncEvery: %v is neither 0 (fsync every write) nor at least %v", c.SyncEvery, minSyncEvery)
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
		fault("Cluster.Routes: has %d of the members: list all of them, this one included; "+
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
			fault("Cluster.Routes: %s is there twice, so more members would be awaited than there are", u.Host)
		}
		seen[u.Host] = true
	}
	return faults
}

// checkListen refuses an address that would let strangers in.
func checkListen(addr, secret, secretField string) error {
	host, _, err := parseListen(addr)
	if err != nil {
		return err
	}
	if secret == "" && !isLoopback(host) {
		return fmt.Errorf("%s can be reached from other hosts, where anyone could delete every stream: "+
			"set %s, or listen on 127.0.0.1", addr, secretField)
	}
	return nil
}

// parseListen splits a host:port; port 0 becomes the server's way to say "any".
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
		return nil, fmt.Errorf("%q is nothing to connect to: it needs a host and a port", route)
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

// options is c in the server's words. c has been checked.
func (c Config) options() *server.Options {
	o := &server.Options{
		ServerName:             c.Name,
		DontListen:             true,
		Authorization:          c.Token,
		NoSigs:                 true,
		MaxPayload:             MaxPayload,
		JetStream:              true,
		StoreDir:               c.Dir,
		SyncAlways:             c.SyncEvery == 0,
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
		// The server starts its routes only beside a client listener, so it gets
		// one that nobody can use: on loopback, with a token made up in Start.
		o.DontListen = false
		o.Host, o.Port = "127.0.0.1", server.RANDOM_PORT
		o.Cluster.NoAdvertise = true
	}
	return o
}
