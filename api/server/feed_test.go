package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// make creates an empty session.
func (n *node) make(t *testing.T, id, cwd string) {
	t.Helper()
	if _, err := n.Create(t.Context(), api.Create{ID: id, CWD: cwd}); err != nil {
		t.Fatal(err)
	}
}

func (n *node) tell(t *testing.T, id, text string) {
	t.Helper()
	line := fmt.Sprintf(`{"type":"message","message":{"role":"user","content":%q,"timestamp":1}}`, text)
	if _, err := n.Append(t.Context(), id, []byte(line), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

var errEnough = errors.New("enough")

// follow follows o and calls begun when the feed is open. It returns the records up to
// the first one in stop, as "session kind seq", and the last position.
func (n *node) follow(t *testing.T, o client.FeedOptions, begun func(), stop string) (got []string, last string) {
	t.Helper()
	err := n.FollowMany(t.Context(), o, func(ev client.FeedEvent) error {
		last = ev.Place
		if ev.Kind == "" {
			if begun != nil {
				begun()
				begun = nil
			}
			return nil
		}
		one := fmt.Sprintf("%s %s %d", ev.Session, ev.Kind, ev.Seq)
		got = append(got, one)
		if one == stop {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("following ended with %v, after %v", err, got)
	}
	return got, last
}

// of returns the records in got that belong to one session.
func of(got []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, id+" ") })
}

func TestFollowerOfAllSessionsSeesEachInOrder(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.make(t, "session-0", "/w")
	n.tell(t, "session-0", "before")
	var want []string
	got, _ := n.follow(t, client.FeedOptions{}, func() {
		for i := 1; i < 6; i++ {
			n.make(t, fmt.Sprintf("session-%d", i), "/w")
		}
		for range 3 {
			for i := range 6 {
				n.tell(t, fmt.Sprintf("session-%d", i), "more")
			}
		}
		n.make(t, "the-last-1", "/w")
	}, "the-last-1 open 1")
	// The last session may be in another shard, so records of others may follow it.
	for i := range 6 {
		id := fmt.Sprintf("session-%d", i)
		want = []string{id + " open 1", id + " append 2", id + " append 3", id + " append 4"}
		if i == 0 {
			want = []string{id + " append 3", id + " append 4", id + " append 5"}
		}
		have := of(got, id)
		if !slices.Equal(have, want[:min(len(have), len(want))]) {
			t.Errorf("of session %d: %q, want the beginning of %q", i, have, want)
		}
	}
}

func TestFollowerResumesFromLastEvent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.make(t, "session-a", "/w")
	n.make(t, "session-b", "/w")
	ids := []string{"session-a", "session-b"}
	var got []string
	o := client.FeedOptions{Sessions: ids}
	for round := range 4 {
		var more []string
		more, o.After = n.follow(t, o, func() {
			n.tell(t, "session-b", "one")
			n.make(t, fmt.Sprintf("another-%d", round), "/w")
			n.tell(t, "session-a", "two")
		}, fmt.Sprintf("session-a append %d", round+2))
		got = append(got, more...)
	}
	// The last record of b may not have arrived yet, but none is missing or repeated.
	for id, least := range map[string]int{"session-a": 4, "session-b": 3} {
		have := of(got, id)
		for i, one := range have {
			if want := fmt.Sprintf("%s append %d", id, i+2); one != want {
				t.Errorf("event %d of %s is %q, want %q", i, id, one, want)
			}
		}
		if len(have) < least {
			t.Errorf("of %s arrived %q", id, have)
		}
	}
	if len(got) != len(of(got, "session-a"))+len(of(got, "session-b")) {
		t.Errorf("unrequested records: %q", got)
	}
}

func TestFollowerHonorsFilter(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.make(t, "session-a", "/here")
	got, _ := n.follow(t, client.FeedOptions{Filter: catalog.Filter{CWD: "/here"}}, func() {
		n.make(t, "session-b", "/there")
		n.tell(t, "session-b", "not this")
		n.tell(t, "session-a", "this")
		n.make(t, "session-c", "/here")
		n.tell(t, "session-a", "and this")
	}, "session-a append 3")
	if len(of(got, "session-b")) > 0 || !slices.Equal(of(got, "session-a"), []string{"session-a append 2", "session-a append 3"}) {
		t.Errorf("received %q", got)
	}
}

func TestInvalidFeedPositionIsRejected(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.make(t, "session-a", "/w")
	var place string
	_, place = n.follow(t, client.FeedOptions{}, func() { n.tell(t, "session-a", "x") }, "session-a append 2")
	shard := n.Config.Log.Shard("session-a")
	parts := strings.Split(place, "~")
	at, chain, _ := strings.Cut(parts[shard], ".")
	for name, c := range map[string]struct {
		place string
		want  error
	}{
		"words":              {"here and there", core.ErrInvalid},
		"of another log":     {place + "~-", core.ErrInvalid},
		"of another history": {swapped(parts, shard, at+"."+strings.Repeat("0", len(chain))), core.ErrLost},
		"of what was purged": {swapped(parts, shard, "1."+chain), core.ErrLost},
	} {
		err := n.FollowMany(t.Context(), client.FeedOptions{After: c.place}, func(client.FeedEvent) error { return errEnough })
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for query, want := range map[string]int{
		"session=x": 400, "session=session-a&cwd=/w": 400, "state=nonsense": 200, "limit=1": 400,
		strings.Repeat("session=session-a&", 101): 400,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, n.Base+"/v1/events?"+query, nil)
		req.Header.Set(undescribed, "limit")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != want {
			b, _ := io.ReadAll(res.Body)
			t.Errorf("%.40s: %s %s", query, res.Status, b)
		}
		cancel()
		_ = res.Body.Close()
	}
}

func swapped(parts []string, i int, part string) string {
	parts = slices.Clone(parts)
	parts[i] = part
	return strings.Join(parts, "~")
}

// A follower that reads nothing does not block writers.
func TestSlowFollowerDoesNotBlockWriters(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.make(t, "session-a", "/w")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.Base+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	tight := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return conn, conn.(*net.TCPConn).SetReadBuffer(4096)
	}}}
	defer tight.CloseIdleConnections()
	res, err := tight.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text := strings.Repeat("x", 1<<20)
	for range 10 { // more than the socket buffers hold
		n.tell(t, "session-a", text)
	}
	got, err := n.Info(t.Context(), "session-a")
	if err != nil || got.EntryCount != 10 {
		t.Errorf("the session has %d entries, %v", got.EntryCount, err)
	}
}
