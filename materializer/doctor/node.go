package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/stream"
)

func (d *Doctor) node(ctx context.Context, f *finder) (string, error) {
	if err := d.Node.Ready(ctx); err != nil {
		f.add(report.Danger, d.Node.Name, "the node cannot serve: "+err.Error(), "see the node's log, and the other nodes'")
	}
	return d.Node.Name, nil
}

// durability checks how durable an acknowledged record is.
func (d *Doctor) durability(ctx context.Context, f *finder) (string, error) {
	st, err := d.Log.State(ctx, 0)
	if err != nil {
		return "", err
	}
	if st.Replicas == 1 {
		f.add(report.Note, "log", "only one server has it: if its disk fails, everything since the last backup is lost", "run three nodes, or back up often")
	}
	switch {
	case d.Node.Sync == nil:
		f.add(report.Note, "sync_interval", "the servers are external, so their flush interval is unknown", "ensure that they run with: sync_interval: always")
		return count(st.Replicas, "copy", "copies"), nil
	case *d.Node.Sync != 0:
		f.add(report.Danger, "nats.sync", fmt.Sprintf("the node's server flushes up to %v after it answered: a power cut loses acknowledged records", *d.Node.Sync), "set nats.sync to 0")
		return "flushes late", nil
	}
	return count(st.Replicas, "copy", "copies") + ", each flushed before an answer", nil
}

func (d *Doctor) streams(ctx context.Context, f *finder) (string, error) {
	var copies int
	for shard := range d.Log.Shards() {
		st, err := d.Log.State(ctx, shard)
		if err != nil {
			return "", err
		}
		copies = st.Replicas
		if st.Unsound != nil {
			f.add(report.Danger, st.Stream, st.Unsound.Error(), "correct it with the nats tool: nats stream edit "+st.Stream)
		}
		lost, err := d.Verifier.Lost(ctx, shard, st)
		if err != nil {
			return "", err
		}
		if lost > 0 {
			f.add(report.Danger, st.Stream, fmt.Sprintf("%d of its messages are missing", lost), "sessctl verify --all")
		}
		d.room(f, st)
		d.offline(f, st)
		if missing := st.Replicas - 1 - len(st.Followers); st.Replicas > 1 && missing > 0 {
			f.add(report.Warning, st.Stream, fmt.Sprintf("%d of %d copies have no server", missing, st.Replicas), "start the nodes that are down")
		}
	}
	return fmt.Sprintf("%d, each %s", d.Log.Shards(), count(copies, "copy", "copies")), nil
}

// offline reports the copies of a stream that are not available. The servers do not know
// the name of a member that has not joined them since they started.
func (d *Doctor) offline(f *finder, st stream.ShardState) {
	seen := []string{st.Leader}
	for _, m := range st.Followers {
		if m.Name != "" {
			seen = append(seen, m.Name)
		}
	}
	slices.Sort(seen)
	for _, m := range st.Followers {
		name := m.Name
		if name == "" {
			name = "a node other than " + strings.Join(seen, ", ")
		}
		if m.Offline {
			f.add(report.Warning, st.Stream, fmt.Sprintf("the copy on %s is not available; one more failure may stop the log", name), "start that node")
		}
	}
}

func (d *Doctor) room(f *finder, st stream.ShardState) {
	next := "give it more room (log.max_bytes, nats.max_store, or the disk)"
	switch {
	case st.Broken != "":
		f.add(report.Danger, st.Stream, "nothing can be stored: "+st.Broken, "free space or replace the disk, then restart the node")
	case st.Full >= stream.AppendLimit:
		f.add(report.Danger, st.Stream, fmt.Sprintf("it is %.0f %% full and refuses new entries", 100*st.Full), next)
	case st.Full >= stream.WarnLevel:
		f.add(report.Warning, st.Stream, fmt.Sprintf("it is %.0f %% full and refuses new entries from %.0f %% on", 100*st.Full, 100*stream.AppendLimit), next)
	}
}

const (
	// smallLag is a normal lag of a busy node, in messages.
	smallLag = 100
	// lagTime is how long a follower may take to make progress.
	lagTime = 3 * time.Second
)

// lag checks whether the materializer keeps up. A lagging follower is a problem
// only if it makes no progress.
func (d *Doctor) lag(ctx context.Context, f *finder) (string, error) {
	worst := uint64(0)
	for shard := range d.Log.Shards() {
		before := d.Materializer.Past(shard)
		st, err := d.Log.State(ctx, shard)
		if err != nil {
			return "", err
		}
		behind := st.Lag(before)
		if behind == 0 {
			continue
		}
		worst = max(worst, behind)
		if d.moves(ctx, shard, uint64(before), uint64(st.Last)) {
			if behind > smallLag {
				f.add(report.Note, st.Stream, fmt.Sprintf("the listing lags by %d messages, and is catching up", behind), "")
			}
			continue
		}
		f.add(report.Warning, st.Stream, fmt.Sprintf("the listing lags by %d messages and makes no progress", behind), "see the node's log; restarting the node is safe")
	}
	return fmt.Sprintf("%d messages at most", worst), nil
}

// moves reports whether a shard's follower makes progress within lagTime.
func (d *Doctor) moves(ctx context.Context, shard int, from, to uint64) bool {
	end := time.NewTimer(lagTime)
	defer end.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if now := uint64(d.Materializer.Past(shard)); now >= to || now > from+smallLag {
			return true
		}
		select {
		case <-tick.C:
		case <-end.C:
			return uint64(d.Materializer.Past(shard)) > from
		case <-ctx.Done():
			return true
		}
	}
}

// verifiedMost is how many sessions that were found to be corrupt are verified again.
const verifiedMost = 20

// corrupt reports the sessions that requests or verifications found to be corrupt, and
// that are not intact meanwhile.
func (d *Doctor) corrupt(ctx context.Context, f *finder) (string, error) {
	g := d.Materializer.Guard()
	for i, c := range g.Corrupt() {
		if i == verifiedMost {
			break
		}
		if _, err := d.Verifier.Verify(ctx, c.Session); ctx.Err() != nil {
			return "", err
		}
	}
	left := g.Corrupt()
	for _, c := range left {
		f.addTreatable(report.Danger, string(c.Session), "it is corrupt: "+c.Why, "sessctl verify --repair "+string(c.Session), d.repair(c.Session))
	}
	return count(len(left), "session was", "sessions were") + " found to be corrupt since the node started", nil
}

func (d *Doctor) losses(_ context.Context, f *finder) (string, error) {
	l := d.Sessions.Losses()
	if l.Rewritten > 0 {
		f.add(report.Warning, "log", fmt.Sprintf("it had lost %s, which this node stored again", count(int(l.Rewritten), "record", "records")), "check the disks of its servers")
	}
	if l.Rescued > 0 {
		f.add(report.Warning, "log", fmt.Sprintf("it had lost %s, and other writers had continued; the lines are on separate heads, named stray-…", count(int(l.Rescued), "line", "lines")), "sessctl heads SESSION; the node's log names the sessions")
	}
	if l.Backfilled > 0 {
		f.add(report.Warning, "log", "a server's copy of it lacks records that others have", "sessctl verify --all names the sessions; check that server's disk")
	}
	for _, l := range d.Materializer.Guard().Losses() {
		f.add(report.Danger, string(l.Session), l.String(), "restore it from a backup, or accept the loss: sessctl verify --accept-loss "+string(l.Session))
	}
	return "records that are proved, and those stored again since the node started", nil
}

const (
	diskWarn   = 0.15 // of the disk is free
	diskDanger = 0.05
)

func (d *Doctor) disk(_ context.Context, f *finder) (string, error) {
	if d.Node.Disk == nil {
		return "the node keeps nothing on disk", nil
	}
	free, size, ok := d.Node.Disk()
	if !ok || size == 0 {
		return "free space is unknown on this platform", nil
	}
	share := float64(free) / float64(size)
	detail := fmt.Sprintf("%.0f %% of it is free, %s", 100*share, sizeOf(free))
	switch {
	case share < diskDanger:
		f.add(report.Danger, d.Node.Dir, detail, "free space: a full disk stops the log")
	case share < diskWarn:
		f.add(report.Warning, d.Node.Dir, detail, "free space before it is full")
	}
	return detail, nil
}

// mostSkew is how far clocks may differ. Displayed times are off by the skew, and
// object stores refuse signatures at 15 minutes.
const mostSkew = 10 * time.Second

func (d *Doctor) clock(ctx context.Context, f *finder) (string, error) {
	if d.Presence == nil {
		return "not compared", nil
	}
	skew, err := d.Presence.Skew(ctx)
	if err != nil {
		f.add(report.Warning, "presence", "no heartbeats can be stored, so active writers are unknown and each node does all background work: "+err.Error(),
			"start the nodes that are down: after a restart of all, heartbeats need each node to have joined once")
		return "not compared", nil
	}
	if skew.Abs() > mostSkew {
		f.add(report.Warning, d.Node.Name, fmt.Sprintf("its clock differs by %v from the log's servers'", skew.Round(time.Second)), "set the clocks by NTP")
	}
	return fmt.Sprintf("within %v of the log's servers'", max(skew.Abs().Round(time.Second), time.Second)), nil
}

func (d *Doctor) store(ctx context.Context, f *finder) (string, error) {
	if err := d.Node.Store(ctx); err != nil {
		f.add(report.Danger, "object store", err.Error(), "images, large lines and snapshots are refused until it answers; check its address, credentials and bucket")
		return "it does not answer", nil
	}
	return "it answers", nil
}

// sizeOf formats a number of bytes.
func sizeOf(n int64) string {
	const unit = 1024
	if n < unit {
		return count(int(n), "byte", "bytes")
	}
	size, suffix := float64(n)/unit, 0
	for size >= unit && suffix < len("KMGTPE")-1 {
		size /= unit
		suffix++
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[suffix])
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
