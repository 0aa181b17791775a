package stream_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// The server's checksum of a message does not cover the length of its headers. Each bit
// of it is flipped in one record of a session. The server reads a message if its headers
// end within it.
func TestReadRepairsLengthOfHeaders(t *testing.T) {
	t.Parallel()
	const records, bits = 4, 32
	for _, damaged := range []uint64{1, 2, records} {
		t.Run(fmt.Sprintf("record %d of %d", damaged, records), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cfg := embedded.Config{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
			s := startServer(t, cfg)
			l := streamtest.Open(t, streamtest.Connect(t, s), stream.LogConfig{Shards: 1})
			ends, places, bitOf := map[core.SessionID]core.Pos{}, map[core.SessionID]core.Pos{}, map[core.Pos]int{}
			for bit := range bits {
				id := core.SessionID(fmt.Sprintf("session-%d", bit))
				for seq := uint64(1); seq <= records; seq++ {
					pos, err := l.Append(ctx, id, ends[id], recordOf(seq))
					if err != nil {
						t.Fatal(err)
					}
					ends[id] = pos
					if seq == damaged {
						places[id], bitOf[pos] = pos, bit
					}
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			within := flipHeaderLengths(t, cfg.Dir, bitOf)
			l = streamtest.Open(t, streamtest.Connect(t, startServer(t, cfg)), stream.LogConfig{Shards: 1})
			for id, end := range ends {
				var seq uint64
				for r, err := range l.Read(ctx, id, 0, end) {
					if err != nil {
						t.Fatalf("%s: after record %d: %v", id, seq, err)
					}
					isNext := r.Seq == seq+1 || r.Seq == seq+2 && seq+1 == damaged && !within[places[id]]
					if !isNext || string(r.Body) != string(recordOf(r.Seq).Body) || r.Backfilled {
						t.Errorf("%s: after record %d: record %d, %q, Backfilled %v", id, seq, r.Seq, r.Body, r.Backfilled)
					}
					seq = r.Seq
				}
				last, err := l.LastLink(ctx, id)
				if damaged < records || within[places[id]] {
					if err != nil || last.Seq != records || seq != records {
						t.Errorf("%s: the read ended at record %d, the last record is %v, %v", id, seq, last, err)
					}
				} else if end, ok := errors.AsType[*storage.EndError](err); !ok || end.After == 0 || seq != records-1 {
					t.Errorf("%s: the read ended at record %d, the last record is %v, %v", id, seq, last, err)
				}
			}
		})
	}
}

func recordOf(seq uint64) *core.Record {
	r := &core.Record{Kind: core.KindAppend, Seq: seq, Head: core.MainHead, Writer: "w", Body: fmt.Appendf(nil, "the words of record %d", seq)}
	r.Chain = core.Chain{}.Next(r)
	return r
}

func startServer(t *testing.T, cfg embedded.Config) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// flipHeaderLengths flips a bit of the length of the headers of each message of bitOf, in
// the blocks of a closed server. within says whose headers still end within the message.
func flipHeaderLengths(t *testing.T, dir string, bitOf map[core.Pos]int) (within map[core.Pos]bool) {
	t.Helper()
	const (
		fixed      = 22      // length, sequence, time, length of the subject
		checksum   = 8       // at the end
		hasHeaders = 1 << 31 // in the length
	)
	found, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "SESS_main_00", "msgs", "*.blk"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	within = map[core.Pos]bool{}
	for _, path := range found {
		b := testkit.ReadFile(t, path)
		le := binary.LittleEndian
		for rest := b; len(rest) > fixed; {
			length, pos, subject := le.Uint32(rest)&^hasHeaders, core.Pos(le.Uint64(rest[4:])), le.Uint16(rest[20:])
			if bit, ok := bitOf[pos]; ok {
				at := rest[fixed+int(subject):]
				le.PutUint32(at, le.Uint32(at)^1<<bit)
				within[pos] = int64(le.Uint32(at)) <= int64(length)-fixed-int64(subject)-4-checksum
			}
			rest = rest[length:]
		}
		testkit.WriteFile(t, path, b)
	}
	if len(within) != len(bitOf) {
		t.Fatalf("%d records were damaged, want %d", len(within), len(bitOf))
	}
	return within
}
