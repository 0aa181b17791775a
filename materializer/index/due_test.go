package index

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// Writes are rare, unless a client waits for changes or something is to be erased.
func TestWritesAreSoonIfAClientWaitsOrTextIsErased(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	seq := uint64(0)
	put := func(erased bool) {
		seq++
		x.Put(materializer.View{Dialect: pi.Dialect{}, Row: catalog.Row{ID: "session-a", Dialect: "pi", Seq: seq, Erased: erased}, Growth: new(core.Growth)})
	}
	for _, tc := range []struct {
		what string
		do   func()
	}{
		{"a client waits", func() { put(false); x.Changed() }},
		{"other entries", func() { put(false) }}, // each put has other entries
		{"erased", func() { put(true) }},
		{"forgotten", func() { x.Forget("session-a") }},
	} {
		x.Sync(t.Context())
		x.flushed = time.Now().Add(time.Hour) // however slow the test is
		if x.isDue() {
			t.Errorf("before %s: a write is due", tc.what)
		}
		tc.do()
		if !x.isDue() {
			t.Errorf("%s: no write is due", tc.what)
		}
	}
}

// A stoppingDialect stops the node while the entries of a session are read.
type stoppingDialect struct {
	pi.Dialect
	stop  func()
	reads *int
}

func (d stoppingDialect) Read(e core.Entry) []item.Item {
	*d.reads++
	d.stop()
	return d.Dialect.Read(e)
}

func TestEndOfRunInterruptsTheWriteOfASession(t *testing.T) {
	t.Parallel()
	x, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: "test", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	ctx, stop := context.WithCancel(t.Context())
	reads := 0
	e, err := pi.Dialect{}.Entry([]byte(`{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"hello"}}`))
	if err != nil {
		t.Fatal(err)
	}
	x.Put(materializer.View{
		Dialect: stoppingDialect{stop: stop, reads: &reads}, Entries: []core.Entry{e},
		Row: catalog.Row{ID: "session-a", Dialect: "pi", Seq: 1}, Growth: new(core.Growth),
	})
	x.Forget("session-b") // so that a write is due
	_ = x.Run(ctx)
	if reads != 2 || x.Pending() != 0 {
		t.Errorf("the entry was read %d times, and %d sessions are pending: the first write was not interrupted, or there was no last one", reads, x.Pending())
	}
	x.Put(materializer.View{Dialect: pi.Dialect{}, Row: catalog.Row{ID: "session-c", Dialect: "pi", Seq: 1}, Growth: new(core.Growth)})
	x.Sync(t.Context())
	if x.Pending() != 1 {
		t.Errorf("after the end, %d sessions are pending, want 1", x.Pending())
	}
}
