package engine_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// A log that is nearly full rejects entries, and still accepts claims, releases and
// finishes.
func TestNearlyFullLogRejectsOnlyEntries(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, MaxBytes: 256 << 10, Blobs: b})
	ss := node(l, b)
	s := create(t, ss, "session1", entry("root", ""))
	mine := claim(t, s, core.ClaimRequest{})
	n := 1
	var st stream.ShardState
	for st.Full < stream.AppendLimit { // between two answers of the server, the estimate is a little above the real size
		var err error
		for ; err == nil && n < 1000; n++ {
			_, err = s.Append(t.Context(), engine.Append{Writer: mine.Writer, Lines: [][]byte{noise(n)}})
		}
		testkit.WantErr(t, err, core.ErrFull)
		n--
		if st, err = l.State(t.Context(), 0); err != nil || st.Full < 0.89 || st.Full > 0.95 {
			t.Fatalf("entries were rejected when the shard was %v full, %v", st.Full, err)
		}
	}

	testkit.WantErr(t, tryCreate(t.Context(), ss), core.ErrFull)
	_, err := s.Amend(t.Context(), engine.Amend{Writer: mine.Writer, Change: func(st *core.State) ([]core.Entry, error) {
		e, _ := st.Entry("root")
		e.Line = []byte(strings.Replace(string(e.Line), "hi", "ho", 1))
		return []core.Entry{e}, nil
	}})
	testkit.WantErr(t, err, core.ErrFull)

	if err := s.Release(t.Context(), core.MainHead, mine.Writer, core.Notice{}); err != nil {
		t.Errorf("release: %v", err)
	}
	claim(t, open(t, node(l, b), "session1"), core.ClaimRequest{})
	checkpoint(t, s, b)
	if err := s.Delete(t.Context(), core.Notice{}); err != nil {
		t.Errorf("delete: %v", err)
	}
	testkit.Equal(t, "entries", n, len(state(t, open(t, node(l, b), "session1")).Entries)) // root, and those before n
}

func noise(n int) []byte {
	return fmt.Appendf(nil, `{"type":"custom","id":"n%d","x":"%s"}`, n, strings.Repeat(rand.Text()+rand.Text()+rand.Text(), 10))
}

// The server's free space counts if a stream has no limit. An append does not wait for
// that figure.
func TestFullServerRejectsEntries(t *testing.T) {
	t.Parallel()
	var full atomic.Int64 // percent
	var broken atomic.Bool
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b, Capacity: func(string) (used, limit int64, err error) {
		if broken.Load() {
			return 0, 0, errors.New("no space left on device")
		}
		return full.Load() << 20, 100 << 20, nil
	}})
	s := create(t, node(l, b), "session1", entry("root", ""))
	know := func() { // an append learns this later
		if _, err := l.State(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	full.Store(91)
	know()
	_, err := appendLines(t.Context(), s, message("a"))
	testkit.WantErr(t, err, core.ErrFull)
	before := len(b.All)
	_, err = appendLines(t.Context(), s, imageLine("img", strings.Repeat("QUJD", 400)))
	testkit.WantErr(t, err, core.ErrFull)
	testkit.Equal(t, "blobs after a rejected append with an image", before, len(b.All))
	mine := claim(t, s, core.ClaimRequest{})
	if err := s.RefreshStrict(t.Context()); err != nil {
		t.Error(err)
	}
	full.Store(96)
	know()
	testkit.WantErr(t, s.RefreshStrict(t.Context()), core.ErrFull)
	broken.Store(true)
	know()
	testkit.WantErr(t, s.Release(t.Context(), core.MainHead, mine.Writer, core.Notice{}), core.ErrFull)
	if err := s.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	broken.Store(false)
	full.Store(50)
	for { // only the appends themselves ask for it
		_, err := s.Append(t.Context(), engine.Append{Writer: mine.Writer, Lines: rawLines([]string{message("b")})})
		if err == nil {
			break
		}
		testkit.WantErr(t, err, core.ErrFull)
		time.Sleep(50 * time.Millisecond)
	}
}
