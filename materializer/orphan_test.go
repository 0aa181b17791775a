package materializer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// A forgetfulLog acknowledges the next record and loses it.
type forgetfulLog struct {
	engine.Log
	forgets atomic.Bool
}

func (l *forgetfulLog) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	if l.forgets.Swap(false) {
		_, last, err := l.Range(ctx, id)
		return last + 1, err
	}
	return l.Log.Append(ctx, id, after, r)
}

// A log loses a record that one node has acknowledged, and another node's record takes its
// position. The first node does not notice, and continues its lost history. Another node,
// which owns no shard, sees that, and both histories become one again.
func TestLinesOfLostHistoryAreStoredAgain(t *testing.T) {
	t.Parallel()
	blind := newRig(t)
	other := *blind
	other.cache = materializer.NewCache(blind.sessions, 64<<20)
	other.file = filepath.Join(t.TempDir(), "index.db")
	log := &forgetfulLog{Log: blind.log}
	blobs := materializer.NewBlobs(blind.blobs)
	blind.sessions = engine.NewSessions(engine.Config{Log: log, Blobs: blobs, Snapshots: blind.snapshots, Dialects: dialect.All(), Logger: blind.quiet})
	blind.cache = materializer.NewCache(blind.sessions, 64<<20)

	s := blind.create(t, "session-one")
	blind.cache.Put(s)
	log.forgets.Store(true)
	say(t, s, "lost")
	theirs, err := other.sessions.Open(t.Context(), s.ID())
	if err != nil {
		t.Fatal(err)
	}
	say(t, theirs, "theirs")
	say(t, s, "orphan")
	for _, head := range []string{"one", "two", "three"} { // records without lines
		if _, _, err := s.Claim(t.Context(), core.ClaimRequest{Head: head, Agent: "agent"}); err != nil {
			t.Fatal(err)
		}
	}

	idle := materializer.Policy{Idle: time.Hour} // no snapshot is due otherwise
	members := func(context.Context) ([]string, error) { return []string{"blind"}, nil }
	blind.runAs(t, materializer.Config{Node: "blind", Members: members, Policy: idle})
	other.runAs(t, materializer.Config{Node: "other", Members: members, Policy: idle})
	want := []string{"lost", "orphan", "theirs"}
	await(t, "all acknowledged lines", func() bool {
		got, err := other.sessions.Open(t.Context(), s.ID())
		return err == nil && slices.Equal(entryIDs(got), want)
	})
	await(t, "the same lines at the first node", func() bool { return slices.Equal(entryIDs(s), want) })
}

// say appends a message with that id.
func say(t *testing.T, s *engine.Session, id string) {
	t.Helper()
	line := fmt.Sprintf(`{"type":"message","id":%q,"message":{"role":"user","content":"hi"}}`, id)
	if _, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
		t.Fatal(err)
	}
}

// entryIDs returns the ids of a session's entries, sorted.
func entryIDs(s *engine.Session) (ids []string) {
	_ = s.View(func(st *core.State) error {
		for i := range st.Entries {
			ids = append(ids, st.Entries[i].ID)
		}
		return nil
	})
	slices.Sort(ids)
	return ids
}
