package novasessions_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/nova"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/novasessions"
)

// blobs keeps bytes in memory.
type blobs struct {
	mu  sync.Mutex
	all map[core.Digest][]byte
}

func (b *blobs) Put(_ context.Context, p []byte) (core.Digest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := core.DigestOf(p)
	b.all[d] = bytes.Clone(p)
	return d, nil
}

func (b *blobs) Get(_ context.Context, d core.Digest) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.all[d]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", d, core.ErrNotFound)
	}
	return p, nil
}

// NOVA-01, NOVA-07
func TestNovasFileAndTheLogTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := "imported-0001"
	file := `{"session_id": "` + id + `", "created_at": "2026-01-01T00:00:00.1", "last_updated": "2026-01-01T00:00:00.1", "model": "m", "turn_count": 2}`
	bring := func(text string) stream.Imported {
		t.Helper()
		f, err := nova.Dialect{}.File([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		res, err := w.ss.Import(t.Context(), f, []byte(text), core.Origin{}, "")
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := bring(file)
	if !res.Created || res.Entries != 2 {
		t.Errorf("%+v", res)
	}
	_ = res.Session.View(func(st *core.State) error {
		if d := st.Origin.Original; d.IsZero() || d != core.DigestOf([]byte(file)) {
			t.Error("the file as it was is not kept, though an export ends with a newline")
		}
		if got := string(core.Lines(st.Dialect.Layout(st.Header, st.Entries))); got != file+"\n" {
			t.Errorf("export gives %s", got)
		}
		return nil
	})
	s := w.holder()
	if _, err := s.GetOrCreate(t.Context(), &id, novasessions.Options{}); err != nil {
		t.Fatal(err)
	}
	if res, err := s.RunTask(t.Context(), id, nil); err != nil || res.State.TurnCount != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	if res := bring(file); res.Created || res.Entries != 0 || w.elsewhere(id).TurnCount != 3 {
		t.Errorf("the same file again: %+v", res)
	}
	if res := bring(strings.Replace(file, "2}", "9}", 1)); res.Created || res.Entries != 1 || w.elsewhere(id).TurnCount != 9 {
		t.Errorf("the file that Nova wrote anew: %+v", res)
	}
}
