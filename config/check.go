package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Check returns every fault of c at once, each under its key, or nil.
func Check(c Config) error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	if c.Data == "" {
		bad("data", "empty; name a directory")
	}
	checkAccess(c, bad)
	if c.Node == "" {
		bad("node", "empty")
	}
	checkLog(c, bad)
	checkNATS(c, bad)
	checkBlobs(c, bad)
	for _, root := range c.Watch.Roots {
		if root != "agents" && !filepath.IsAbs(root) {
			bad("watch.roots", "%q; use absolute paths, or agents for where the agents known here keep their sessions", root)
		}
	}
	checkNotices(c.Notices, bad)
	if c.Limits.Body < 1<<20 || c.Limits.Body > 512<<20 {
		bad("limits.body", "%s; use 1MiB to 512MiB", c.Limits.Body)
	}
	if c.Limits.Line < 64<<10 || c.Limits.Line > c.Limits.Body {
		bad("limits.line", "%s; use 64KiB to limits.body", c.Limits.Line)
	}
	if c.Limits.Memory != 0 && c.Limits.Memory < 16<<20 {
		bad("limits.memory", "%s; use 0 or 16MiB or more", c.Limits.Memory)
	}
	if c.Streams.Poll < Duration(100*time.Millisecond) || c.Streams.Poll > Duration(5*time.Minute) {
		bad("streams.poll", "%s; use 100ms to 5m", c.Streams.Poll)
	}
	if !slices.Contains([]string{"off", "https", "local"}, c.Streams.Webhooks) {
		bad("streams.webhooks", "%q; use off, https or local", c.Streams.Webhooks)
	}
	if c.Snapshots.Cache < 1<<20 {
		bad("snapshots.cache", "%s; use 1MiB or more", c.Snapshots.Cache)
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Logging.Level) {
		bad("logging.level", "%q; use debug, info, warn or error", c.Logging.Level)
	}
	if c.Logging.Format != "text" && c.Logging.Format != "json" {
		bad("logging.format", "%q; use text or json", c.Logging.Format)
	}
	return errors.Join(errs...)
}

// checkAccess refuses a node that other hosts can use without a token, unless
// open says so.
func checkAccess(c Config, bad reporter) {
	host := checkAddr(c.Listen, "listen", bad)
	switch {
	case c.Open && c.Token != "":
		bad("open", "it admits every client, but token is set; remove one of them")
	case c.Open && c.TLS.ClientCA != "":
		bad("open", "it admits every client, but tls.client_ca is set; remove one of them")
	case host != "" && !isLoopback(host) && !c.Closed() && !c.Open:
		bad("token", "listen is %s, beyond loopback; set a token or tls.client_ca, or listen on 127.0.0.1 "+
			"(open: true allows everything to every client)", c.Listen)
	}
	t := c.TLS
	pair(t.Cert, t.Key, "tls", bad)
	if t.ClientCA != "" && t.Cert == "" {
		bad("tls.client_ca", "clients present certificates only over TLS; set tls.cert and tls.key")
	}
	if t.ClientCA != "" && c.Token == "" && len(t.Subjects) == 0 {
		bad("tls.subjects", "no client would have permission; name at least one admin, or set token")
	}
	if len(t.Subjects) > 0 && t.ClientCA == "" {
		bad("tls.subjects", "without tls.client_ca, any client could create such a certificate")
	}
	for _, s := range t.Subjects {
		name, scope, ok := strings.Cut(s, "=")
		if !ok || name == "" || name == "*" || strings.Contains(strings.TrimSuffix(name, "*"), "*") || !slices.Contains([]string{"read", "write", "admin"}, scope) {
			bad("tls.subjects", "%q; write NAME=SCOPE, such as agent-*=write, with read, write or admin", s)
		}
	}
}

// pair reports a certificate without its key, or a key without its certificate.
func pair(cert, key, section string, bad reporter) {
	if (cert == "") != (key == "") {
		bad(section, "set both cert and key, or neither; cert is %q, key is %q", cert, key)
	}
}

type reporter func(key, format string, args ...any)

func checkLog(c Config, bad reporter) {
	if !slices.Contains([]int{0, 1, 3, 5}, c.Log.Replicas) {
		bad("log.replicas", "%d; use 1, 3 or 5", c.Log.Replicas)
	}
	if c.Log.Replicas > 1 && c.Cluster.Name == "" && c.NATS.URL == "" {
		bad("log.replicas", "%d, but this is a single server; set cluster or nats.url", c.Log.Replicas)
	}
	if c.Log.Shards < 0 || c.Log.Shards > 64 {
		bad("log.shards", "%d; use 1 to 64", c.Log.Shards)
	}
}

func checkNATS(c Config, bad reporter) {
	n := c.NATS
	if n.URL == "" {
		for _, of := range [][2]string{{"creds", n.Creds}, {"nkey", n.NKey}, {"ca", n.CA}} {
			if of[1] != "" {
				bad("nats."+of[0], "applies to nats.url, which is empty")
			}
		}
		if n.Cert != "" && n.Listen == "" {
			bad("nats.cert", "applies to nats.url or nats.listen, which are empty")
		}
	} else {
		if n.Listen != "" || c.Cluster.Name != "" {
			bad("nats.url", "nats.listen and cluster do not apply to an external server")
		}
		for part := range strings.SplitSeq(n.URL, ",") {
			if u, err := url.Parse(part); err != nil || u.Host == "" {
				bad("nats.url", "%q is not a URL such as nats://host:4222", part)
			}
		}
	}
	if n.Sync == SyncGroup && !c.sharesFlushes() {
		bad("nats.sync", "group applies to a single embedded server without nats.listen, and not on Windows; use auto")
	}
	pair(n.Cert, n.Key, "nats", bad)
	if n.Creds != "" && n.NKey != "" {
		bad("nats.nkey", "nats.creds is set, too; remove one of them")
	}
	if n.Listen != "" {
		checkAddr(n.Listen, "nats.listen", bad)
		if c.Closed() && n.Token == "" {
			bad("nats.token", "empty, but the API requires a token: any process on this host could read all sessions at nats.listen; set it")
		}
	}
	pair(c.Cluster.Cert, c.Cluster.Key, "cluster", bad)
	if (c.Cluster.Cert == "") != (c.Cluster.CA == "") {
		bad("cluster.ca", "set both cluster.cert and cluster.ca, or neither")
	}
	if c.Cluster.Name == "" {
		if c.Cluster.Listen != "" || len(c.Cluster.Routes) > 0 || c.Cluster.Cert != "" {
			bad("cluster.name", "empty, but other settings of the cluster are not")
		}
		return
	}
	checkAddr(c.Cluster.Listen, "cluster.listen", bad)
	if c.Closed() && c.Cluster.Secret == "" {
		bad("cluster.secret", "empty, but the API requires a token: any process on this host could join the cluster and read all sessions; set it on every node")
	}
	for _, r := range c.Cluster.Routes {
		checkAddr(r, "cluster.routes", bad)
	}
	if len(c.Cluster.Routes) < 3 {
		bad("cluster.routes", "%d nodes; name all of them, three or more", len(c.Cluster.Routes))
	}
	if c.Blobs.Store == "fs" {
		bad("blobs.store", "fs serves one node; a cluster needs s3")
	}
}

func checkNotices(n Notices, bad reporter) {
	for _, text := range n.URLs {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
			bad("notices.urls", "an entry is not a URL such as https://example.com/hook")
		case u.Scheme == "http" && !isLoopback(u.Hostname()):
			bad("notices.urls", "%s is sent without encryption; use https", u.Host)
		}
	}
	if _, err := n.Key(); err != nil && len(n.URLs) > 0 {
		bad("notices.secret", "%v", err)
	}
}

func checkBlobs(c Config, bad reporter) {
	if c.Blobs.Collect != 0 && c.Blobs.Collect < Duration(10*time.Minute) {
		bad("blobs.collect", "%s; use 10m or more, since each run reads all sessions, or 0 for never", c.Blobs.Collect)
	}
	if c.Blobs.Grace < Duration(10*time.Minute) {
		bad("blobs.grace", "%s; use 10m or more, since a write may take minutes to reference its blobs", c.Blobs.Grace)
	}
	switch c.Blobs.Store {
	case "fs":
		if c.NATS.URL != "" {
			bad("blobs.store", "fs serves one node; with nats.url use s3")
		}
	case "s3":
		if c.Blobs.S3.Endpoint == "" {
			bad("blobs.s3.endpoint", "empty")
		}
		if c.Blobs.S3.Bucket == "" {
			bad("blobs.s3.bucket", "empty")
		}
	default:
		bad("blobs.store", "%q; use fs or s3", c.Blobs.Store)
	}
}

// checkAddr reports an address that is no HOST:PORT, and returns its host.
func checkAddr(addr, key string, bad reporter) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		bad(key, "%q is not HOST:PORT", addr)
		return ""
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		bad(key, "%q: the port is not a number from 0 to 65535", addr)
	}
	if host == "" {
		return "0.0.0.0" // every address of the machine
	}
	return host
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
