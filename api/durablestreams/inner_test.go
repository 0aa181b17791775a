package durablestreams

import (
	"bytes"
	"context"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestPathsHaveSessionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[core.SessionID]string{}
	for _, path := range []string{
		"a", "a/b", "a__b", "a_b", "a_2fb", "a%2Fb", "a b", "A", "ä", "x_g2", strings.Repeat("y", 2000), strings.Repeat("y", 2001),
		strings.Repeat("/", 90), strings.Repeat("_", 90), "team-a/" + strings.Repeat("z", 200),
	} {
		for generation := range 3 {
			id := SessionID(path, generation+1)
			if _, err := core.ParseSessionID(string(id)); err != nil {
				t.Errorf("%.40q: %v", path, err)
			}
			if other, ok := seen[id]; ok {
				t.Errorf("%.40q and %.40q have the session %s", path, other, id)
			}
			seen[id] = path
		}
	}
	if id := SessionID("team-a/"+strings.Repeat("z", 200), 1); !strings.HasPrefix(string(id), "ds-team-a__zz") {
		t.Errorf("a token's prefix does not reach %s", id)
	}
}

func TestOffsetsSortAsText(t *testing.T) {
	t.Parallel()
	last := ""
	for _, n := range []int64{0, 1, 9, 10, 99, 1 << 20, 1 << 40, 9999999999999999} {
		s := formatOffset(n)
		if s <= last {
			t.Errorf("%s does not sort after %s", s, last)
		}
		last = s
		if got, ok := parseOffset(s); !ok || got != n {
			t.Errorf("%s is read as %d, %v", s, got, ok)
		}
	}
	for _, bad := range []string{"", "0", "-2", "0,1", "0 1", "0000000000000000_1", "0000000000000001_0000000000000001", "now "} {
		if _, err := startOf(url.Values{"offset": {bad}}); err == nil {
			t.Errorf("offset %q is accepted", bad)
		}
	}
}

func TestCursorsAlwaysGrow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cursor := nextCursor("", now)
	for range 100 {
		next := nextCursor(cursor, now)
		if len(next) < len(cursor) || len(next) == len(cursor) && next <= cursor {
			t.Fatalf("%s follows %s", next, cursor)
		}
		cursor = next
	}
}

func TestDataCannotBeginAnotherEvent(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	writeData(&b, "a\r\n\r\nevent: control\rdata:x\n\n  b")
	for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n\n"), "\n") {
		if !strings.HasPrefix(line, "data:") {
			t.Errorf("the line %q is no data", line)
		}
	}
	if strings.Contains(strings.TrimSuffix(b.String(), "\n\n"), "\n\n") {
		t.Errorf("the event ends early: %q", b.String())
	}
}

func TestBatchesAreBoundInBytes(t *testing.T) {
	t.Parallel()
	of := func(n int64) *appendRequest { return &appendRequest{line: &bytestream.Line{Length: n}} }
	c := &queue{waiting: []*appendRequest{of(maxBatchBytes + 1), of(maxBatchBytes), of(1), {close: true}, of(maxBatchBytes - 1)}}
	for range maxBatch + 1 {
		c.waiting = append(c.waiting, of(0))
	}
	for i, want := range []int{1, 1, maxBatch, 4} {
		if got := len(c.next()); got != want {
			t.Errorf("batch %d has %d requests, want %d", i, got, want)
		}
	}
	if len(c.waiting) != 0 {
		t.Errorf("%d wait", len(c.waiting))
	}
}

// What is derived of streams counts against the memory of the node, and is forgotten if it
// is too much.
func TestDerivedStateIsBoundInBytes(t *testing.T) {
	t.Parallel()
	b := memory.NewBudget("test", 1<<30)
	h := New(Config{Memory: b})
	for _, id := range []core.SessionID{"a", "b", "c", "d"} {
		s := h.derivedOf(id)
		h.mu.Lock()
		h.count(s, maxDerived/3)
		h.mu.Unlock()
		if used, _, _ := b.Stats(); used != int64(len(h.streams))*(maxDerived/3) || used > maxDerived || h.streams[id] != s {
			t.Errorf("%d bytes of %d streams count", used, len(h.streams))
		}
	}
}

// A use that cannot be stored extends the life of its stream on this node until that life
// would be over.
func TestUseIsRememberedWhileItCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopping, stop := context.WithCancel(t.Context())
		defer stop()
		var tries atomic.Int64
		h := New(Config{Stopping: stopping, Cached: func(context.Context, core.SessionID) (*engine.Session, error) {
			tries.Add(1)
			return nil, core.ErrUnavailable
		}})
		h.touches["s"] = &touch{at: time.Now(), ttl: time.Hour}
		h.noteTouch("s")
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if h.lastTouch("s").IsZero() || tries.Load() < 60 || tries.Load() > 70 {
			t.Errorf("the use is forgotten, or was tried %d times", tries.Load())
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if !h.lastTouch("s").IsZero() {
			t.Error("the use is remembered after the end of the stream")
		}
	})
}

// A stream that is used while its last use is being stored is not stored again before a
// tenth of its time to live.
func TestConstantUseIsStoredOncePerTenthOfTheTimeToLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopping, stop := context.WithCancel(t.Context())
		defer stop()
		ttl := int64(100)
		d := bytestream.Dialect{}
		header, err := d.Header((&bytestream.Config{ID: "s", Time: stamp(time.Now()), Path: "s", ContentType: defaultType, TTL: &ttl}).Line())
		if err != nil {
			t.Fatal(err)
		}
		ss := engine.NewSessions(engine.Config{Log: engine.Plain(memlog.New("test")), Blobs: streamtest.NewBlobs(), Dialects: dialect.All()})
		sess, err := ss.Create(t.Context(), engine.CreateRequest{ID: "session-1", Origin: core.Origin{Dialect: d.Name()}, Header: header})
		if err != nil {
			t.Fatal(err)
		}
		var h *Handler
		h = New(Config{Stopping: stopping, Cached: func(context.Context, core.SessionID) (*engine.Session, error) {
			h.touchLater(sess)
			return sess, nil
		}})
		h.touchLater(sess)
		time.Sleep(601 * time.Second)
		synctest.Wait()
		_ = sess.View(func(st *core.State) error {
			if n := len(st.Entries); n != 60 {
				t.Errorf("%d uses are stored in 600 s", n)
			}
			return nil
		})
	})
}

// A subscription whose pattern matches everything is not woken by subscriptions, of which
// it is one.
func TestPatternsMatchStreamsByTheirSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"a/*", "a/b", true},
		{"a/*", "a/b/c", false},
		{"a/*", "a", false},
		{"*", "a", true},
		{"**", "a/b/c", true},
		{"a/**", "a", true},
		{"a/**/c", "a/b/b/c", true},
		{"a/**/c", "a/b/b/d", false},
		{"**/a/**/b", "a/x/a/b/c/b", true},
		{"**/a/**/b", "x/b/b", false},
		{"%2A", "*", true},
		{"%2A", "a", false},
		{"**/a/**/a/**/b", strings.Repeat("a/", 600) + "c", false},
		{"**", "__ds/subscriptions/s", false},
		{"*/*/*", "__ds/subscriptions/s", false},
	} {
		s := subscription{wanted: wanted{Pattern: c.pattern}}
		if got := s.matches(c.path); got != c.want {
			t.Errorf("%q matches %.40q: %v", c.pattern, c.path, got)
		}
	}
}

func TestWebhooksReachPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.1", "192.0.2.1", "192.168.0.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1",
		"::ffff:10.0.0.1", "::ffff:100.64.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:a00:1::", "3fff::1",
		"fc00::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
	} {
		if isPublic(netip.MustParseAddr(bad)) {
			t.Errorf("%s is public", bad)
		}
		host := bad
		if strings.Contains(bad, ":") {
			host = "[" + url.PathEscape(bad) + "]"
		}
		if WebhooksLocal.check("https://"+host+"/hook") == nil {
			t.Errorf("a webhook at %s is accepted", bad)
		}
	}
	for _, good := range []string{"1.1.1.1", "100.63.255.255", "100.128.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:4860::8888"} {
		if !isPublic(netip.MustParseAddr(good)) {
			t.Errorf("%s is not public", good)
		}
	}
}
