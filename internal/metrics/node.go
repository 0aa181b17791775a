package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// A Node is what a scrape reads. All fields except Broker are required.
type Node struct {
	Log          *stream.Log
	Sessions     *engine.Sessions
	Cache        *materializer.Cache
	Materializer *materializer.Materializer
	Directory    interface{ Len() int } // counts the sessions
	Blobs        *blobstore.Blobs
	Server       *server.Server
	Store        func() error          // the last result; no I/O
	Conn         Conn                  // to NATS
	Broker       func() embedded.Stats // nil if NATS is external
}

// Conn is what a scrape reads from the connection to NATS.
type Conn struct {
	Up         func() bool
	Reconnects func() uint64
}

// Watch makes every scrape read n. It must be called once.
func (m *Metrics) Watch(n Node) { m.registry.MustRegister(&collector{n}) }

// scrapeTimeoutout bounds reading the state. The default timeout of Prometheus is ten
// seconds.
const scrapeTimeout = 5 * time.Second

type collector struct{ n Node }

// A scrape is one running scrape.
type scrape struct {
	out chan<- prometheus.Metric
}

func (a scrape) gauge(d *prometheus.Desc, v float64, labels ...string) {
	a.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (a scrape) counter(d *prometheus.Desc, v float64, labels ...string) {
	a.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector. It describes nothing, because the
// metrics depend on the node.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	a := scrape{out}
	c.node(ctx, a)
	c.writes(a)
	c.shards(ctx, a)
	c.snapshots(a)
	c.caches(a)
	c.bounds(a)
	c.nats(a)
}

var (
	ready    = desc("sesslog_ready", "1 while the node can serve, like /readyz.")
	storeUp  = desc("sesslog_store_up", "1 while the object store is available, as of the node's last check.")
	sessions = desc("sesslog_sessions", "Sessions in the node's directory.")
)

func (c *collector) node(ctx context.Context, a scrape) {
	a.gauge(ready, one(c.n.Server.Ready(ctx) == nil))
	a.gauge(storeUp, one(c.n.Store() == nil))
	a.gauge(sessions, float64(c.n.Directory.Len()))
}

var (
	rewritten    = desc("sesslog_lost_records_redone_total", "Acknowledged records that the log lost and this node stored again.")
	rescued      = desc("sesslog_lost_lines_rescued_total", "Lost lines that this node stored on separate heads, because the session had continued.")
	lent         = desc("sesslog_lost_records_lent_total", "Records that were missing in the replica that was read and found in another.")
	owed         = desc("sesslog_lost_lines_owed", "Lines that sessions in the trash lack and only this node has.")
	waiting      = desc("sesslog_appends_waiting", "Appends in the queue.")
	waitingBytes = desc("sesslog_appends_waiting_bytes", "Bytes of the appends in the queue.")
)

func (c *collector) writes(a scrape) {
	l := c.n.Sessions.Losses()
	a.counter(rewritten, float64(l.Rewritten))
	a.counter(rescued, float64(l.Rescued))
	a.counter(lent, float64(l.Backfilled))
	a.gauge(owed, float64(l.Pending))
	w := c.n.Sessions.Waiting()
	a.gauge(waiting, float64(w.Appends))
	a.gauge(waitingBytes, float64(w.Bytes))
}

var (
	shardUp       = desc("sesslog_shard_up", "1 while the shard's leader responds and can store.", "shard")
	shardMessages = desc("sesslog_shard_messages", "Records in the shard.", "shard")
	shardBytes    = desc("sesslog_shard_bytes", "Bytes in the shard.", "shard")
	shardFull     = desc("sesslog_shard_full_ratio", "How full the shard is, of its own quota or its server's; new entries are rejected from 0.9.", "shard")
	shardSessions = desc("sesslog_shard_sessions", "Sessions that have records in the shard.", "shard")
	shardLag      = desc("sesslog_shard_lag_messages", "Messages that this node's materializer has not processed yet.", "shard")
	shardMine     = desc("sesslog_shard_mine", "1 on the node that writes the shard's snapshots and truncates it.", "shard")
	shardGarbage  = desc("sesslog_shard_garbage_ratio", "Share of the shard's bytes that are garbage, as of this node's last survey.", "shard")
	shardFreed    = desc("sesslog_shard_freed_bytes_total", "Garbage that this node truncated from the shard.", "shard")
	shardInWay    = desc("sesslog_shard_sessions_in_way", "Sessions that prevent truncation of the shard.", "shard")
)

func (c *collector) shards(ctx context.Context, a scrape) {
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
		a.gauge(shardLag, float64(st.Lag(c.n.Materializer.Past(i))), shard)
	}
}

var (
	unsaved    = desc("sesslog_checkpoint_waiting_sessions", "Sessions that wait for a snapshot, until they are idle or long enough.")
	unsavedFor = desc("sesslog_checkpoint_age_seconds", "Age of the oldest record that those sessions have without a snapshot; 0 if there is none.")
	writing    = desc("sesslog_checkpoint_writing", "Snapshots being written.")
)

func (c *collector) snapshots(a scrape) {
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
	cacheBytes    = desc("sesslog_session_cache_bytes", "Bytes of sessions in memory.")
	cacheLimit    = desc("sesslog_session_cache_limit_bytes", "Limit of the bytes of sessions in memory.")
	cacheReads    = desc("sesslog_session_cache_reads_total", "Reads of sessions, by whether the session was in memory.", "result")
	blobBytes     = desc("sesslog_blob_cache_bytes", "Bytes of cached blobs and snapshots.", "tier")
	blobLimit     = desc("sesslog_blob_cache_limit_bytes", "Limit of the bytes of cached blobs and snapshots.", "tier")
	blobReads     = desc("sesslog_blob_cache_reads_total", "Reads of the cache of blobs and snapshots, by result.", "tier", "result")
	blobPuts      = desc("sesslog_blob_puts_total", "Blobs put, by whether they had to be written.", "result")
	blobPutBytes  = desc("sesslog_blob_put_bytes_total", "Bytes of blobs put, by whether they had to be written.", "result")
)

func (c *collector) caches(a scrape) {
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
	followers    = desc("sesslog_followers", "Clients that follow sessions or the directory.")
	boundUsed    = desc("sesslog_bound_used_ratio", "Use of the node's limits, by limit.", "bound")
	boundRefused = desc("sesslog_bound_refused_total", "Requests rejected because a limit was reached, by limit.", "bound")
)

func (c *collector) bounds(a scrape) {
	all := c.n.Server.Bounds()
	a.gauge(followers, float64(all["followers"].Used))
	for name, b := range all {
		a.gauge(boundUsed, share(b.Used, b.Limit), name)
		a.counter(boundRefused, float64(b.Refused), name)
	}
}

var (
	natsUp         = desc("sesslog_nats_up", "1 while the node is connected to NATS.")
	natsReconnects = desc("sesslog_nats_reconnects_total", "Reconnects to NATS.")
	natsRole       = desc("sesslog_nats_role", "1 for the role of the node's NATS server: single, leader or member of its cluster, stopped, or external if it has none.", "role")
	natsStore      = desc("sesslog_nats_store_bytes", "Bytes of the streams of the embedded server.")
	natsLimit      = desc("sesslog_nats_store_limit_bytes", "Limit of the bytes of the streams of the embedded server.")
	natsStreams    = desc("sesslog_nats_streams", "Streams with a replica on the embedded server.")
	natsClients    = desc("sesslog_nats_clients", "Connections to the embedded server.")
	natsSlow       = desc("sesslog_nats_slow_clients_total", "Connections that the embedded server closed because they read too slowly.")
)

const external = "external"

func (c *collector) nats(a scrape) {
	a.gauge(natsUp, one(c.n.Conn.Up()))
	a.counter(natsReconnects, float64(c.n.Conn.Reconnects()))
	role, f := embedded.Role(external), embedded.Stats{}
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

// share returns part/whole, or 0 if whole is not positive.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
