package config

import (
	"runtime"
	"time"
)

// Config is the whole configuration of a node. Its doc tags are what
// `sessnode config` prints.
type Config struct {
	Data   string `yaml:"data" doc:"directory of everything that this node keeps on its own disk"`
	Listen string `yaml:"listen" doc:"HOST:PORT of the HTTP API; port 0 picks a free one. Beyond loopback a token is required"`
	Token  string `yaml:"token" doc:"root token: allowed everything, creates the log's first tokens; if set, every request needs a token" secret:"true"`
	Open   bool   `yaml:"open" doc:"allow everything to every client that reaches listen; without it, a node without tokens listens on loopback only"`
	Web    bool   `yaml:"web" doc:"serve the web page at /, for people who sign in with a token"`
	MCP    bool   `yaml:"mcp" doc:"serve the Model Context Protocol at /mcp, for agents that read the log with a token of their own; read-only"`
	TLS    TLS    `yaml:"tls"`
	Prices string `yaml:"prices" doc:"file of prices of models, as JSON, for estimates of costs that agents do not write; they replace those that the program lists; empty: none"`
	Node   string `yaml:"node" doc:"this node's name, unique in its cluster; default the host's name"`

	Log       Log       `yaml:"log"`
	NATS      NATS      `yaml:"nats"`
	Cluster   Cluster   `yaml:"cluster"`
	Blobs     Blobs     `yaml:"blobs"`
	Snapshots Snapshots `yaml:"snapshots"`
	Trash     Trash     `yaml:"trash"`
	Limits    Limits    `yaml:"limits"`
	Watch     Watch     `yaml:"watch"`
	Notices   Notices   `yaml:"notices"`
	Streams   Streams   `yaml:"streams"`
	Logging   Logging   `yaml:"logging"`
}

// TLS is how the HTTP API is encrypted, and whose certificates stand for a token.
type TLS struct {
	Cert     string `yaml:"cert" doc:"certificate file of the API, with its chain; reloaded when it changes; empty: no TLS"`
	Key      string `yaml:"key" doc:"file of the certificate's key"`
	ClientCA string `yaml:"client_ca" doc:"file of certificate authorities: every client must present a certificate that one of them signed, except for /healthz and /readyz"`
	Subjects List   `yaml:"subjects" doc:"NAME=SCOPE: clients whose certificate has the common name NAME (PREFIX* matches a prefix) need no token and have SCOPE (read, write, admin); the first match counts"`
}

// Log is the log that the node serves.
type Log struct {
	Name     string `yaml:"name" doc:"the log's name: 1 to 32 of A-Z a-z 0-9 _ -"`
	Shards   int    `yaml:"shards" doc:"number of streams, fixed at creation; 0: 1 with nats.sync group, else 4 on a single server, as many as replicas in a cluster"`
	Replicas int    `yaml:"replicas" doc:"servers that hold each record: 1, 3 or 5; 0: 1 on a single server, 3 in a cluster"`
	Garbage  Size   `yaml:"garbage" doc:"a shard is truncated when its garbage exceeds this and the bytes that are needed; 0: never"`
	MaxBytes Size   `yaml:"max_bytes" doc:"size limit per shard; above it, appends are refused and reads continue; 0: none"`
}

// NATS is the server that the log is kept in.
type NATS struct {
	URL      string `yaml:"url" doc:"an existing NATS server or cluster (nats://…); empty: embed one"`
	Creds    string `yaml:"creds" doc:"credentials file for url"`
	NKey     string `yaml:"nkey" doc:"file with the seed of an nkey, for url"`
	CA       string `yaml:"ca" doc:"file of certificate authorities for url; empty: the system's"`
	Cert     string `yaml:"cert" doc:"certificate file, presented to url, or by the embedded server on nats.listen; reloaded when it changes"`
	Key      string `yaml:"key" doc:"file of that certificate's key"`
	Listen   string `yaml:"listen" doc:"HOST:PORT where the embedded server accepts clients; empty: only this process"`
	Token    string `yaml:"token" doc:"token that clients of the embedded server must show; required beyond loopback, and if the API requires a token" secret:"true"`
	Sync     Sync   `yaml:"sync" doc:"flush interval of the embedded server; 0: each record before its answer; group: one flush for all that wait, on a single server without listen; auto: group if possible, otherwise 0. An interval can lose acknowledged records at a power cut. With url: that server's interval; 0: unknown, 2m is assumed"`
	MaxStore Size   `yaml:"max_store" doc:"disk space for the embedded server; 0: three quarters of what is free"`
}

// Cluster makes the embedded server one of several.
type Cluster struct {
	Name   string `yaml:"name" doc:"the cluster's name, the same on all its nodes; empty: a single server"`
	Listen string `yaml:"listen" doc:"HOST:PORT where other nodes reach this one"`
	Routes List   `yaml:"routes" doc:"HOST:PORT of every node of the cluster, this one included"`
	Secret string `yaml:"secret" doc:"shared secret of the nodes; required beyond loopback, and if the API requires a token" secret:"true"`
	Cert   string `yaml:"cert" doc:"certificate file for links between nodes, valid for the hosts of routes as server and client; reloaded when it changes; empty: no TLS"`
	Key    string `yaml:"key" doc:"file of that certificate's key"`
	CA     string `yaml:"ca" doc:"file of certificate authorities that sign the nodes' certificates"`
}

// Blobs is where images, large bodies and snapshots are kept.
type Blobs struct {
	Store   string   `yaml:"store" doc:"fs: below data, for one node. s3: a bucket shared by all nodes"`
	Cache   Size     `yaml:"cache" doc:"memory for recently read blobs"`
	Disk    Size     `yaml:"disk" doc:"disk below data for recently read blobs and snapshots of store s3; 0: none"`
	Grace   Duration `yaml:"grace" doc:"how long an unreferenced blob is kept, and again in the trash; equal on all nodes of a bucket"`
	Collect Duration `yaml:"collect" doc:"how often one of the nodes collects unreferenced blobs, which reads every session; 0: never (use sessctl blobs gc)"`
	S3      S3       `yaml:"s3"`
}

// S3 is a bucket on any compatible server.
type S3 struct {
	Endpoint  string `yaml:"endpoint" doc:"URL of the server, such as https://s3.example.com"`
	Region    string `yaml:"region" doc:"region, if the server has regions"`
	Bucket    string `yaml:"bucket" doc:"name of the bucket"`
	Prefix    string `yaml:"prefix" doc:"prefix of every key, to share a bucket"`
	AccessKey string `yaml:"access_key" doc:"access key; empty: from the environment (AWS_ACCESS_KEY_ID, …)"`
	SecretKey string `yaml:"secret_key" doc:"secret key" secret:"true"`
	CA        string `yaml:"ca" doc:"file of certificate authorities; empty: the system's"`
	PathStyle bool   `yaml:"path_style" doc:"address the bucket in the path, not in the host's name"`
	Create    bool   `yaml:"create" doc:"create the bucket if it does not exist"`
}

// Snapshots says when sessions are snapshotted, and what stays in memory.
type Snapshots struct {
	Cache   Size     `yaml:"cache" doc:"memory for open sessions"`
	MinTail Size     `yaml:"min_tail" doc:"bytes appended before the next snapshot (a third of the last snapshot, if that is more)"`
	Idle    Duration `yaml:"idle" doc:"a session idle for this long gets a snapshot whatever its tail, if it has grown enough"`
	Grace   Duration `yaml:"grace" doc:"how long a superseded snapshot is kept; 0: forever"`
}

// Trash says what becomes of sessions that were deleted.
type Trash struct {
	Window Duration `yaml:"window" doc:"how long a session stays in the trash, and can be restored, before it may be erased"`
	Erase  bool     `yaml:"erase" doc:"erase sessions automatically when their window is over"`
}

// Watch says which agents' session files on this host go to the log.
type Watch struct {
	Roots List `yaml:"roots" doc:"directories whose session files the node follows while agents write them, as sessctl watch does; agents: the known agents' own directories; empty: none"`
	// Secrets is a secrets.Mode; the rules are in secrets.toml in the data directory.
	Secrets string `yaml:"secrets" doc:"what becomes of secrets in those files: off, report (in the node's log) or mask"`
}

// Notices configures webhooks for sessions that are taken over or split, and for agents
// that wait for their users.
type Notices struct {
	URLs   List   `yaml:"urls" doc:"webhooks that get a signed POST when a session is taken over or split, or its agent waits for its user; equal on all nodes; redirects are not followed" secret:"true"`
	Secret string `yaml:"secret" doc:"key of the signatures: whsec_ and 24 to 64 random bytes in base64; required with urls" secret:"true"`
}

// Limits bound what callers may send.
type Limits struct {
	Body Size `yaml:"body" doc:"bytes of one request, and so of one imported file"`
	Line Size `yaml:"line" doc:"bytes of one entry line"`
	// Memory bounds what callers can have the node hold; see internal/memory.
	Memory Size `yaml:"memory" doc:"memory for sessions in use, requests and answers; beyond it, requests wait and then get 503. 0: half of what the process may use (GOMEMLIMIT, or 90 % of the container's limit), 1GiB without a limit"`
}

// Streams is the durable-streams protocol.
type Streams struct {
	Serve bool     `yaml:"serve" doc:"serve the durable-streams protocol at /v1/stream/: byte streams that are sessions of the log"`
	Poll  Duration `yaml:"poll" doc:"how long a long-poll waits for new data"`
	// Webhooks is a durablestreams.Webhooks.
	Webhooks string `yaml:"webhooks" doc:"webhooks that subscriptions may have: off, https (of public addresses), or local (these, and plain HTTP to this host); they are signed with a key made of notices.secret, or else a random one"`
}

// Logging is what the node says of itself.
type Logging struct {
	Level  string `yaml:"level" doc:"debug, info, warn or error"`
	Format string `yaml:"format" doc:"text or json"`
	Access bool   `yaml:"access" doc:"log a line per request: caller, call, session, outcome; never the content of sessions"`
}

// Default returns the configuration of a node that was told nothing: it runs on
// a laptop. data is where its directory goes.
func Default(data, host string) Config {
	return Config{
		Data:      data,
		Listen:    "127.0.0.1:7433",
		Node:      host,
		Web:       true,
		MCP:       true,
		NATS:      NATS{Sync: SyncAuto},
		Log:       Log{Name: "main", Garbage: 64 << 20},
		Blobs:     Blobs{Store: "fs", Cache: 64 << 20, Disk: 1 << 30, Grace: Duration(24 * time.Hour), S3: S3{PathStyle: true}},
		Snapshots: Snapshots{Cache: 512 << 20, MinTail: 1 << 20, Idle: Duration(30 * time.Second), Grace: Duration(time.Hour)},
		Trash:     Trash{Window: Duration(30 * 24 * time.Hour)},
		Limits:    Limits{Body: 256 << 20, Line: 64 << 20},
		Streams:   Streams{Serve: true, Poll: Duration(30 * time.Second), Webhooks: "off"},
		Logging:   Logging{Level: "info", Format: "text"},
	}
}

// Settle replaces settings that follow from others.
func Settle(c *Config) {
	if c.NATS.Sync != SyncAuto {
		return
	}
	c.NATS.Sync = 0
	if c.sharesFlushes() {
		c.NATS.Sync = SyncGroup
	}
}

// sharesFlushes reports whether the node can use SyncGroup: all records go through it,
// and the system can flush directories.
func (c Config) sharesFlushes() bool {
	return c.NATS.URL == "" && c.NATS.Listen == "" && c.Cluster.Name == "" && runtime.GOOS != "windows"
}

// Closed reports whether callers of the API are asked who they are.
func (c Config) Closed() bool { return c.Token != "" || c.TLS.ClientCA != "" }
