package index

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
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
