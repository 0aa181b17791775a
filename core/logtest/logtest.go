package logtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sesslog/sesslog/core"
)

// testTimeout bounds every operation of the suite.
const testTimeout = time.Minute

// Test runs the suite. open returns a log, which may be the same one every
// time: each test uses its own sessions.
func Test(t *testing.T, open func(*testing.T) core.Log) {
	promises := []struct {
		name string
		test func(*testing.T, core.Log)
	}{
		{"HasAName", hasAName},
		{"UnknownSessionIsNotFound", unknownSession},
		{"StaleAfterConflictsAndStoresNothing", staleAfter},
		{"OfManyAtOnePlaceOneWins", oneWins},
		{"RecordsComeBackWhole", comeBackWhole},
		{"AppendDoesNotKeepTheRecord", doesNotKeep},
		{"ReadKeepsToItsBounds", readBounds},
		{"OtherSessionsAreNeverSeen", othersUnseen},
		{"FollowSeesLaterAppends", followSeesLater},
		{"FollowMissesNothingUnderManyWriters", followMissesNothing},
		{"FollowEndsWithItsContext", followEnds},
		{"EndedContextStoresNothing", endedContext},
		{"ManySessionsAtOnce", manySessions},
		{"ProvesTheLastRecordAndNoOther", provesLast},
		{"WhatIsProvedIsNoRecord", proofIsNoRecord},
	}
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			l := open(t)
			t.Parallel()
			p.test(t, l)
		})
	}
}

// NewID returns the id of a session that no log has.
func NewID() core.SessionID { return core.SessionID(rand.Text()) }

// newRecord returns a record that is well formed. A log does not look into it.
func newRecord(seq uint64, body string) *core.Record {
	r := &core.Record{Kind: core.KindAppend, Seq: seq, Head: core.MainHead, Writer: "w", Body: []byte(body)}
	r.Chain = core.Chain{}.Next(r)
	return r
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// put appends n records and returns their positions, preceded by that of
// "none".
func put(ctx context.Context, t *testing.T, l core.Log, id core.SessionID, n int) []core.Pos {
	t.Helper()
	at := []core.Pos{0}
	for i := range n {
		pos, err := l.Append(ctx, id, at[i], newRecord(uint64(i+1), fmt.Sprintf("%s %d", id, i+1)))
		if err != nil {
			t.Fatal(err)
		}
		if pos <= at[i] {
			t.Fatalf("record %d was placed at %d, not behind %d", i+1, pos, at[i])
		}
		at = append(at, pos)
	}
	return at
}

// take returns what read yields, at most n records.
func take(t *testing.T, n int, read func(func(*core.Record, error) bool)) []*core.Record {
	t.Helper()
	var rs []*core.Record
	if n == 0 {
		return rs
	}
	for r, err := range read {
		if err != nil {
			t.Fatalf("after %d records: %v", len(rs), err)
		}
		if rs = append(rs, r); len(rs) == n {
			break
		}
	}
	return rs
}

// readAll reads until the record at upTo was met: a replica may lag.
func readAll(ctx context.Context, t *testing.T, l core.Log, id core.SessionID, upTo core.Pos) []*core.Record {
	t.Helper()
	var all []*core.Record
	for after := core.Pos(0); after < upTo; {
		rs := take(t, -1, l.Read(ctx, id, after, upTo))
		all = append(all, rs...)
		if len(rs) > 0 {
			after = rs[len(rs)-1].Pos
		}
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func seqs(rs []*core.Record) []uint64 {
	var ns []uint64
	for _, r := range rs {
		ns = append(ns, r.Seq)
	}
	return ns
}

func upTo(from, n uint64) []uint64 {
	var ns []uint64
	for ; from <= n; from++ {
		ns = append(ns, from)
	}
	return ns
}

// diff compares what a writer chose of a record.
func diff(want, got *core.Record) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(core.Record{}, "Pos", "Time"), cmp.Comparer(bytes.Equal))
}
