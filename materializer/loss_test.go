package materializer_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// A shard is empty after a restart, and barriers of strict reads are where its
// records were.
func TestRowsOfLostRecordsAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	policy := materializer.Policy{}
	_, d, stop := r.run(t, policy)
	r.create(t, "lost-session")
	await(t, "a row", func() bool { return d.Seq("lost-session") > 0 })
	stop()

	shard := r.log.Shard("lost-session")
	st, err := r.log.State(t.Context(), shard)
	if err != nil {
		t.Fatal(err)
	}
	r.empty(t, st.Stream)
	for range st.Last {
		if err := r.log.Prove(t.Context(), "lost-session", 0); err != nil {
			t.Fatal(err)
		}
	}

	m, d, stop := r.run(t, policy)
	await(t, "the row to go", func() bool { return d.Seq("lost-session") == 0 })
	again := sameShard(r, shard)
	r.create(t, string(again))
	await(t, "what came after the loss", func() bool { return d.Seq(again) > 0 })
	if m.Seen(shard) == 0 {
		t.Error("the shard is not followed")
	}
	stop()
	_, d, _ = r.run(t, policy)
	if d.Seq("lost-session") != 0 || d.Seq(again) == 0 {
		t.Errorf("after a restart: rows of seq %d and %d", d.Seq("lost-session"), d.Seq(again))
	}
}

// empty deletes and recreates a stream.
func (r *rig) empty(t *testing.T, stream string) {
	t.Helper()
	js, err := jetstream.New(r.conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), s.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
}

// sameShard returns the id of a session in shard.
func sameShard(r *rig, shard int) core.SessionID {
	for i := 0; ; i++ {
		if id := core.SessionID(fmt.Sprintf("session-%d", i)); r.log.Shard(id) == shard {
			return id
		}
	}
}

// Rows lost with their file are restored from the log while the node serves.
func TestRowsOfCorruptDirectoryAreRestored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, d, _ := r.run(t, materializer.Policy{})
	for i := range 50 {
		add(t, r.create(t, fmt.Sprintf("session-%02d", i)), 2000)
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The pages move from the write-ahead log into the file, where they are
	// corrupted.
	db, err := sql.Open("sqlite", r.file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	b := testkit.ReadFile(t, r.file)
	for i := 4096; i < len(b); i++ {
		b[i] ^= 0xA5
	}
	f, err := os.OpenFile(r.file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b[4096:], 4096); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	lost := false
	await(t, "the damage to be met", func() bool {
		add(t, r.create(t, fmt.Sprintf("another-%d", time.Now().UnixNano())), 2000)
		_, _ = allRows(t, d)
		lost = lost || d.Lost(0)
		return lost
	})
	await(t, "all rows to be there again", func() bool {
		d.Sync(t.Context())
		page, err := d.List(t.Context(), catalog.Filter{Prefix: "session-"})
		return err == nil && len(page.Rows) == 50
	})
}
