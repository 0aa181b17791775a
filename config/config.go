package config

import "time"

// Config is the whole configuration of a node. Its doc tags are what
// `sessnode config` prints.
type Config struct {
	Data   string `yaml:"data" doc:"directory of everything this node keeps on its own disk"`
	Listen string `yaml:"listen" doc:"HOST:PORT of the HTTP API; port 0 picks a free one. Beyond loopback a token is required"`
	Token  string `yaml:"token" doc:"token that may do everything, and makes the first of the log's own; with it, every request must carry one" secret:"true"`
	Open   bool   `yaml:"open" doc:"let everybody do everything who can reach listen, beyond loopback too; without it, a node that asks for no token starts on loopback alone"`
	TLS    TLS    `yaml:"tls"`
	Node   string `yaml:"node" doc:"this node's name, unique in its cluster; default the host's name"`

	Log       Log       `yaml:"log"`
	NATS      NATS      `yaml:"nats"`
	Cluster   Cluster   `yaml:"cluster"`
	Blobs     Blobs     `yaml:"blobs"`
	Snapshots Snapshots `yaml:"snapshots"`
	Trash     Trash     `yaml:"trash"`
	Limits    Limits    `yaml:"limits"`
	Watch     Watch     `yaml:"watch"`
	Logging   Logging   `yaml:"logging"`
}

// TLS is how the HTTP API is encrypted, and whose certificates stand for a token.
type TLS struct {
	Cert     string `yaml:"cert" doc:"file of the API's certificate, its chain behind it; it is read anew when it changes; empty: no TLS"`
	Key      string `yaml:"key" doc:"file of the certificate's key"`
	ClientCA string `yaml:"client_ca" doc:"file of certificate authorities: every caller must show a certificate that one of them signed, but those of /healthz and /readyz"`
	Subjects List   `yaml:"subjects" doc:"NAME=SCOPE: callers whose certificate has the common name NAME, or one beginning with it where it ends in *, need no token and may do what SCOPE says (read, write, admin); the first that fits counts"`
}

// Log is the log that the node serves.
type Log struct {
	Name     string `yaml:"name" doc:"the log's name: 1 to 32 of A-Z a-z 0-9 _ -"`
	Shards   int    `yaml:"shards" doc:"streams it is spread over, fixed when it is made; 0: 4 on a single server, 8 in a cluster"`
	Replicas int    `yaml:"replicas" doc:"servers that hold each record: 1, 3 or 5; 0: 1 on a single server, 3 in a cluster"`
	Garbage  Size   `yaml:"garbage" doc:"how much of a shard that nobody needs any more may lie there besides as much as is needed; beyond that it is truncated; 0: never"`
	MaxBytes Size   `yaml:"max_bytes" doc:"room for each shard; when it is full, appends are refused and reads go on; 0: no limit"`
}

// NATS is the server that the log is kept in.
type NATS struct {
	URL      string   `yaml:"url" doc:"an existing NATS server or cluster (nats://…); empty: embed one"`
	Creds    string   `yaml:"creds" doc:"credentials file for url"`
	NKey     string   `yaml:"nkey" doc:"file with the seed of an nkey, for url"`
	CA       string   `yaml:"ca" doc:"file of certificate authorities for url, where they are not the system's"`
	Cert     string   `yaml:"cert" doc:"certificate file: shown to the server at url, or by the embedded server to clients of nats.listen; read anew when it changes"`
	Key      string   `yaml:"key" doc:"file of that certificate's key"`
	Listen   string   `yaml:"listen" doc:"HOST:PORT where the embedded server accepts clients; empty: only this process"`
	Token    string   `yaml:"token" doc:"token that clients of the embedded server must show; required beyond loopback" secret:"true"`
	Sync     Duration `yaml:"sync" doc:"how often the embedded server flushes to disk; 0: before every answer. Anything else can lose acknowledged records at a power cut. With url: how often that server does; 0: nobody knows, 2m is assumed"`
	MaxStore Size     `yaml:"max_store" doc:"disk that the embedded server may use; 0: three quarters of what is free"`
}

// Cluster makes the embedded server one of several.
type Cluster struct {
	Name   string `yaml:"name" doc:"the cluster's name, the same on all its nodes; empty: a single server"`
	Listen string `yaml:"listen" doc:"HOST:PORT where the other nodes of the cluster reach this one"`
	Routes List   `yaml:"routes" doc:"HOST:PORT of every node of the cluster, this one included"`
	Secret string `yaml:"secret" doc:"what nodes show each other; required beyond loopback" secret:"true"`
	Cert   string `yaml:"cert" doc:"certificate file for the links between nodes, for host names of routes, good for servers and clients; read anew when it changes; empty: no TLS"`
	Key    string `yaml:"key" doc:"file of that certificate's key"`
	CA     string `yaml:"ca" doc:"file of certificate authorities that every node's certificate must be signed by"`
}

// Blobs is where images, large bodies and snapshots are kept.
type Blobs struct {
	Store   string   `yaml:"store" doc:"fs: below data, on this node alone. s3: a bucket that all nodes share"`
	Cache   Size     `yaml:"cache" doc:"memory for blobs read lately"`
	Disk    Size     `yaml:"disk" doc:"disk for blobs and snapshots of store s3 read lately, below data; 0: none"`
	Grace   Duration `yaml:"grace" doc:"how long a blob that no session names is left alone, and again in the trash; the same on all nodes of a bucket"`
	Collect Duration `yaml:"collect" doc:"how often one of the nodes collects blobs that no session names, which reads every session; 0: only when it is asked to (sessctl blobs gc)"`
	S3      S3       `yaml:"s3"`
}

// S3 is a bucket on any compatible server.
type S3 struct {
	Endpoint  string `yaml:"endpoint" doc:"URL of the server, such as https://s3.example.com"`
	Region    string `yaml:"region" doc:"region, where the server has any"`
	Bucket    string `yaml:"bucket" doc:"name of the bucket"`
	Prefix    string `yaml:"prefix" doc:"put before every key, to share a bucket with others"`
	AccessKey string `yaml:"access_key" doc:"access key; empty: from the environment (AWS_ACCESS_KEY_ID, …)"`
	SecretKey string `yaml:"secret_key" doc:"secret key" secret:"true"`
	CA        string `yaml:"ca" doc:"file of certificate authorities, where they are not the system's"`
	PathStyle bool   `yaml:"path_style" doc:"address the bucket in the path, not in the host's name"`
	Create    bool   `yaml:"create" doc:"make the bucket where it is absent"`
}

// Snapshots says when sessions are snapshotted, and what stays in memory.
type Snapshots struct {
	Cache   Size     `yaml:"cache" doc:"memory for open sessions"`
	MinTail Size     `yaml:"min_tail" doc:"how much must have been appended since the last snapshot (a third of that snapshot, where that is more)"`
	Idle    Duration `yaml:"idle" doc:"a session left alone for this long is snapshotted whatever its tail, if it has grown enough to be worth it"`
	Grace   Duration `yaml:"grace" doc:"how long a snapshot stays that a later one took the place of; 0: for ever"`
}

// Trash says what becomes of sessions that were deleted.
type Trash struct {
	Window Duration `yaml:"window" doc:"how long a session stays in the trash, from where it can be taken out, before it may be erased"`
	Erase  bool     `yaml:"erase" doc:"erase sessions when their window is over, without being asked"`
}

// Watch says which agents' session files on this host go to the log.
type Watch struct {
	Roots List `yaml:"roots" doc:"directories whose session files the node brings into the log while agents write them, as sessctl watch does; agents: where the agents known here keep theirs; empty: none"`
}

// Limits bound what callers may send.
type Limits struct {
	Body Size `yaml:"body" doc:"bytes of one request, so of one imported file"`
	Line Size `yaml:"line" doc:"bytes of one entry line"`

	Uploads Size `yaml:"uploads" doc:"disk for files that come in parts, below data, until they are whole and for a day at most; half of it for one caller; 0: they come whole alone"`
}

// Logging is what the node says of itself.
type Logging struct {
	Level  string `yaml:"level" doc:"debug, info, warn or error"`
	Format string `yaml:"format" doc:"text or json"`
	Access bool   `yaml:"access" doc:"a line for each request: who asked for what, of which session, and how it went; what sessions hold is never in it"`
}

// Default returns the configuration of a node that was told nothing: it runs on
// a laptop. data is where its directory goes.
func Default(data, host string) Config {
	return Config{
		Data:      data,
		Listen:    "127.0.0.1:7433",
		Node:      host,
		Log:       Log{Name: "main", Garbage: 64 << 20},
		Blobs:     Blobs{Store: "fs", Cache: 64 << 20, Disk: 1 << 30, Grace: Duration(24 * time.Hour), S3: S3{PathStyle: true}},
		Snapshots: Snapshots{Cache: 512 << 20, MinTail: 256 << 10, Idle: Duration(30 * time.Second), Grace: Duration(time.Hour)},
		Trash:     Trash{Window: Duration(30 * 24 * time.Hour)},
		Limits:    Limits{Body: 256 << 20, Line: 64 << 20, Uploads: 1 << 30},
		Logging:   Logging{Level: "info", Format: "text"},
	}
}

// Closed reports whether callers of the API are asked who they are.
func (c Config) Closed() bool { return c.Token != "" || c.TLS.ClientCA != "" }
