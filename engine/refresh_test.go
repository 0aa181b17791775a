package engine_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// A countedLog counts its reads.
type countedLog struct {
	*memlog.Log
	lasts, reads int
}

func (l *countedLog) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	l.lasts++
	return l.Log.Last(ctx, id)
}

func (l *countedLog) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	l.reads++
	return l.Log.Read(ctx, id, after, upTo)
}

// A materializer that has seen a record in the log reads it from any replica.
func TestRefreshToAsksTheLeaderOnlyIfTheReplicaLags(t *testing.T) {
	t.Parallel()
	l, b := memlog.New("test"), streamtest.NewBlobs()
	log := &countedLog{Log: l}
	s := create(t, node(l, b), "session-a", message("aaaa0001"))
	reader := open(t, node(log, b), "session-a")
	rec := mustAppend(t, s, "", "", message("aaaa0002"))
	at, err := l.Last(t.Context(), "session-a")
	if err != nil {
		t.Fatal(err)
	}
	log.lasts = 0
	if err := reader.RefreshTo(t.Context(), rec.Cursor.Seq, at.Pos); err != nil {
		t.Fatal(err)
	}
	if log.lasts != 0 {
		t.Errorf("it asked the leader %d times", log.lasts)
	}
	rec = mustAppend(t, s, "", "", message("aaaa0003"))
	if err := reader.RefreshTo(t.Context(), rec.Cursor.Seq, at.Pos); err != nil { // a replica that lags yields nothing after at
		t.Fatal(err)
	}
	if log.lasts == 0 || state(t, reader).Seq != rec.Cursor.Seq {
		t.Errorf("it asked the leader %d times and has record %d, want %d", log.lasts, state(t, reader).Seq, rec.Cursor.Seq)
	}
}

func TestCheckpointOfTheSoleWriterReadsNothing(t *testing.T) {
	t.Parallel()
	for _, sole := range []bool{false, true} {
		log, b := &countedLog{Log: memlog.New("test")}, streamtest.NewBlobs()
		ss := engine.NewSessions(engine.Config{
			Log: full(log), Blobs: b, Snapshots: b, Dialects: dialect.All(), SoleWriter: sole, Logger: slog.New(slog.DiscardHandler),
		})
		s := create(t, ss, "session-a", message("aaaa0001"))
		mustAppend(t, s, "", "", message("aaaa0002"))
		log.reads = 0
		if err := tryCheckpoint(t.Context(), s, b); err != nil {
			t.Fatal(err)
		}
		if sole != (log.reads == 0) {
			t.Errorf("sole writer %v: %d reads", sole, log.reads)
		}
	}
}

// Another node erased the session while this one had it in memory: it must not be read as
// a session without entries.
func TestRefreshTellsThatTheSessionWasErased(t *testing.T) {
	t.Parallel()
	for name, refresh := range map[string]func(*engine.Session, *core.Record) error{
		"Refresh":       func(s *engine.Session, _ *core.Record) error { return s.Refresh(t.Context()) },
		"RefreshTo":     func(s *engine.Session, r *core.Record) error { return s.RefreshTo(t.Context(), r.Seq, r.Pos) },
		"RefreshStrict": func(s *engine.Session, _ *core.Record) error { return s.RefreshStrict(t.Context()) },
	} {
		l, ss, b := inMemory()
		create(t, ss, "session1", entry("root", ""))
		s := open(t, node(l, b), "session1")
		if err := open(t, ss, "session1").Erase(t.Context(), core.Notice{By: "ada"}, nil); err != nil {
			t.Fatal(err)
		}
		rs := records(t, l, "session1")
		for range 2 { // also when the state has the record
			if err := refresh(s, rs[len(rs)-1]); !errors.Is(err, core.ErrDeleted) || !strings.Contains(err.Error(), "erased by ada") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
