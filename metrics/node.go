package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// A Node is what is asked when somebody scrapes. All but Broker is required.
type Node struct {
	Log          *stream.Log
	Sessions     *engine.Sessions
	Cache        *materializer.Cache
	Materializer *materializer.Materializer
	Directory    interface{ Len() int } // counts the sessions
	Blobs        *blobstore.Blobs
	Server       *api.Server
	Store        func() error            // as of a moment ago; asks nobody
	Conn         Conn                    // to NATS
	Broker       func() embedded.Figures // nil where NATS is somebody else's
}

// Conn is what is asked of a connection to NATS.
type Conn struct {
	Up         func() bool
	Reconnects func() uint64
}

// Watch has n asked at every scrape. It is called once.
func (m *Metrics) Watch(n Node) { m.registry.MustRegister(&collector{n}) }

// scrapeTime is how long asking may take, all in all. Prometheus waits ten
// seconds unless it is told otherwise.
const scrapeTime = 5 * time.Second

type collector struct{ n Node }

// An ask is one scrape on its way.
type ask struct {
	out chan<- prometheus.Metric
}

func (a ask) gauge(d *prometheus.Desc, v float64, labels ...string) {
	a.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (a ask) counter(d *prometheus.Desc, v float64, labels ...string) {
	a.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector. It tells nothing: what there is
// depends on the node.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	a := ask{out}
	c.node(ctx, a)
	c.writes(a)
	c.shards(ctx, a)
	c.snapshots(a)
	c.caches(a)
	c.bounds(a)
	c.nats(a)
}

var (
	ready    = desc("sesslog_ready", "1 while the node can serve, as /readyz says.")
	storeUp  = desc("sesslog_store_up", "1 while the object store can be used, as of the node's last look.")
	sessions = desc("sesslog_sessions", "Sessions that the node's directory knows.")
)

func (c *collector) node(ctx context.Context, a ask) {
	a.gauge(ready, one(c.n.Server.Ready(ctx) == nil))
	a.gauge(storeUp, one(c.n.Store() == nil))
	a.gauge(sessions, float64(c.n.Directory.Len()))
}

var (
	redone       = desc("sesslog_lost_records_redone_total", "Records that the log had acknowledged and lost, and that this node stored a second time.")
	rescued      = desc("sesslog_lost_lines_rescued_total", "Lines that the log had lost and that this node put on heads of their own, because others had gone on.")
	lent         = desc("sesslog_lost_records_lent_total", "Times that a record was not in the copy of the log that was read, but in another.")
	owed         = desc("sesslog_lost_lines_owed", "Lines that sessions in the trash lack and that this node alone remembers.")
	waiting      = desc("sesslog_appends_waiting", "Appends that wait for their turn.")
	waitingBytes = desc("sesslog_appends_waiting_bytes", "Bytes of the appends that wait for their turn.")
)

func (c *collector) writes(a ask) {
	l := c.n.Sessions.Losses()
	a.counter(redone, float64(l.Redone))
	a.counter(rescued, float64(l.Rescued))
	a.counter(lent, float64(l.Lent))
	a.gauge(owed, float64(l.Owed))
	w := c.n.Sessions.Waiting()
	a.gauge(waiting, float64(w.Appends))
	a.gauge(waitingBytes, float64(w.Bytes))
}

var (
	shardUp       = desc("sesslog_shard_up", "1 while the shard's leader answers and can store.", "shard")
	shardMessages = desc("sesslog_shard_messages", "Records that the shard holds.", "shard")
	shardBytes    = desc("sesslog_shard_bytes", "Bytes that the shard holds.", "shard")
	shardFull     = desc("sesslog_shard_full_ratio", "How full the shard is, of its own room or its server's; from 0.9 on new entries are refused.", "shard")
	shardSessions = desc("sesslog_shard_sessions", "Sessions that have records in the shard.", "shard")
	shardLag      = desc("sesslog_shard_lag_messages", "Messages that this node's materializer has yet to see.", "shard")
	shardMine     = desc("sesslog_shard_mine", "1 on the node that looks after the shard's snapshots and truncation.", "shard")
	shardGarbage  = desc("sesslog_shard_garbage_ratio", "Share of the shard's bytes that nobody needs, as of the last survey by this node.", "shard")
	shardFreed    = desc("sesslog_shard_freed_bytes_total", "Garbage that this node dropped from the shard.", "shard")
	shardInWay    = desc("sesslog_shard_sessions_in_way", "Sessions that keep the shard from being truncated.", "shard")
)

func (c *collector) shards(ctx context.Context, a ask) {
	work := c.n.Materializer.Shards()
	for i := range c.n.Log.Shards() {
		shard, w := strconv.Itoa(i), work[i]
		a.gauge(shardMine, one(w.Mine), shard)
		a.counter(shardFreed, float64(w.Freed), shard)
		a.gauge(shardInWay, float64(len(w.InWay)), shard)
		a.gauge(shardGarbage, share(w.Garbage, w.Garbage+w.Live), shard)
		st, err := c.n.Log.State(ctx, i)
		a.gauge(shardUp, one(err == nil && st.Broken == ""), shard)
		if err != nil {
			continue
		}
		a.gauge(shardMessages, float64(st.Messages), shard)
		a.gauge(shardBytes, float64(st.Bytes), shard)
		a.gauge(shardFull, st.Full, shard)
		a.gauge(shardSessions, float64(st.Sessions), shard)
		a.gauge(shardLag, float64(st.Behind(c.n.Materializer.Past(i))), shard)
	}
}

var (
	unsaved    = desc("sesslog_checkpoint_waiting_sessions", "Sessions that a snapshot is to be written of, once they are idle or long enough.")
	unsavedFor = desc("sesslog_checkpoint_age_seconds", "How long the oldest of those has had records that no snapshot covers; 0 for none.")
	writing    = desc("sesslog_checkpoint_writing", "Snapshots that are being written.")
)

func (c *collector) snapshots(a ask) {
	n, since := c.n.Materializer.Waiting()
	a.gauge(unsaved, float64(n))
	age := 0.0
	if !since.IsZero() {
		age = time.Since(since).Seconds()
	}
	a.gauge(unsavedFor, age)
	now, _ := c.n.Materializer.Writing()
	a.gauge(writing, float64(now))
}

var (
	cacheSessions = desc("sesslog_session_cache_sessions", "Sessions in memory.")
	cacheBytes    = desc("sesslog_session_cache_bytes", "Bytes that sessions take in memory.")
	cacheLimit    = desc("sesslog_session_cache_limit_bytes", "Bytes that sessions may take in memory.")
	cacheReads    = desc("sesslog_session_cache_reads_total", "Times that a session was asked for, by whether it was in memory.", "result")
	blobBytes     = desc("sesslog_blob_cache_bytes", "Bytes of blobs and snapshots that are kept near.", "tier")
	blobLimit     = desc("sesslog_blob_cache_limit_bytes", "Bytes of blobs and snapshots that may be kept near.", "tier")
	blobReads     = desc("sesslog_blob_cache_reads_total", "Times that a blob or snapshot was looked for near, by what was found.", "tier", "result")
	blobPuts      = desc("sesslog_blob_puts_total", "Blobs that were put, by whether they had to be written.", "result")
	blobPutBytes  = desc("sesslog_blob_put_bytes_total", "Bytes of blobs that were put, by whether they had to be written.", "result")
)

func (c *collector) caches(a ask) {
	n, size, limit := c.n.Cache.Stats()
	a.gauge(cacheSessions, float64(n))
	a.gauge(cacheBytes, float64(size))
	a.gauge(cacheLimit, float64(limit))
	hits, misses := c.n.Cache.Reads()
	a.counter(cacheReads, float64(hits), "hit")
	a.counter(cacheReads, float64(misses), "miss")
	for tier, f := range map[string]blobstore.CacheStats{"memory": c.n.Blobs.Memory(), "disk": c.n.Blobs.Disk().Stats()} {
		a.gauge(blobBytes, float64(f.Bytes), tier)
		a.gauge(blobLimit, float64(f.Limit), tier)
		a.counter(blobReads, float64(f.Hits), tier, "hit")
		a.counter(blobReads, float64(f.Misses-f.Damaged), tier, "miss")
		a.counter(blobReads, float64(f.Damaged), tier, "damaged")
	}
	p := c.n.Blobs.Puts()
	a.counter(blobPuts, float64(p.Written), "written")
	a.counter(blobPuts, float64(p.Existing), "there")
	a.counter(blobPutBytes, float64(p.WrittenBytes), "written")
	a.counter(blobPutBytes, float64(p.ExistingBytes), "there")
}

var (
	followers    = desc("sesslog_followers", "Callers that follow sessions or the directory.")
	boundUsed    = desc("sesslog_bound_used_ratio", "How much of what the node can have in hand at once it has, by what it is.", "bound")
	boundRefused = desc("sesslog_bound_refused_total", "Times that more was refused because the node had too much in hand, by what it is.", "bound")
)

func (c *collector) bounds(a ask) {
	all := c.n.Server.Bounds()
	a.gauge(followers, float64(all["followers"].Used))
	for name, b := range all {
		a.gauge(boundUsed, share(b.Used, b.Limit), name)
		a.counter(boundRefused, float64(b.Refused), name)
	}
}

var (
	natsUp         = desc("sesslog_nats_up", "1 while the node is connected to NATS.")
	natsReconnects = desc("sesslog_nats_reconnects_total", "Times that the connection to NATS was lost and came back.")
	natsRole       = desc("sesslog_nats_role", "1 for what the node's NATS server is: single, leader or member of its cluster, stopped, or external where it has none.", "role")
	natsStore      = desc("sesslog_nats_store_bytes", "Bytes that the streams of the embedded server take.")
	natsLimit      = desc("sesslog_nats_store_limit_bytes", "Bytes that the streams of the embedded server may take.")
	natsStreams    = desc("sesslog_nats_streams", "Streams that the embedded server has a copy of.")
	natsClients    = desc("sesslog_nats_clients", "Connections to the embedded server.")
	natsSlow       = desc("sesslog_nats_slow_clients_total", "Connections that the embedded server ended because they did not read in time.")
)

const external = "external"

func (c *collector) nats(a ask) {
	a.gauge(natsUp, one(c.n.Conn.Up()))
	a.counter(natsReconnects, float64(c.n.Conn.Reconnects()))
	role, f := embedded.Role(external), embedded.Figures{}
	if c.n.Broker != nil {
		f = c.n.Broker()
		role = f.Role
	}
	for _, r := range []embedded.Role{embedded.RoleSingle, embedded.RoleLeader, embedded.RoleMember, embedded.RoleStopped, external} {
		a.gauge(natsRole, one(r == role), string(r))
	}
	if c.n.Broker == nil {
		return
	}
	a.gauge(natsStore, float64(f.Store))
	a.gauge(natsLimit, float64(f.MaxStore))
	a.gauge(natsStreams, float64(f.Streams))
	a.gauge(natsClients, float64(f.Clients))
	a.counter(natsSlow, float64(f.SlowEnded))
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// share is part of whole, 0 where there is no whole.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
