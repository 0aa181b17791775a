package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The time is a goal and is only logged: a busy machine must not fail the test.
func TestNewNodeBecomesReady(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t, "--listen", "127.0.0.1:0")
	t.Logf("ready after %v", node.ReadyIn.Round(time.Millisecond))
	for _, path := range []string{"/healthz", "/readyz"} {
		r, err := http.Get(node.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s", path, r.Status)
		}
	}
	s, err := node.Client().Status(harness.Timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Healthy || s.Sessions != 0 || len(s.Shards) != 1 {
		t.Errorf("status of a new node: %+v", s)
	}
	node.Kill()
	node.Start(t)
	t.Logf("ready again after a kill after %v", node.ReadyIn.Round(time.Millisecond))
}

func TestSIGTERMStopsCleanly(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 30, Images: 3})
	id := importFile(t, node.Client(), file)
	for range often(2) {
		ended := make(chan error, 3)
		for range cap(ended) {
			follow(t, node, id, ended)
		}
		cl := node.Client()
		callers := gather(t, id, 6, func() *client.Client { return cl })
		callers.await(50)
		stopped := harness.Took(t, "from SIGTERM to the end of the process")
		if code := node.Terminate(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
		stopped()
		for range cap(ended) {
			if err := <-ended; err != nil {
				t.Errorf("a follower's stream failed: %v", err)
			}
		}
		isGone(t, node)
		acked := callers.said()
		node.Start(t)
		callers.await(10)
		callers.leave()
		allThere(t, harness.Export(t, cl, id), acked)
		allThere(t, harness.Export(t, cl, id), callers.said())
		intact(t, cl, id)
		if n := callers.Again.Load(); n != 0 {
			t.Errorf("%d appends were stored and not answered", n)
		}
		t.Logf("%d appends acknowledged before the end, %d requests came too late", len(acked), callers.Unanswered.Load())
	}
	for _, line := range node.Complaints() {
		t.Errorf("the node logged: %s", line)
	}
}

// follow follows a session and does not reconnect when the node ends the stream. It
// returns once the stream has begun.
func follow(t *testing.T, node *harness.Node, id string, ended chan<- error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, node.URL+"/v1/sessions/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK {
		t.Fatalf("events: %s", r.Status)
	}
	go func() {
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err == nil && !bytes.HasSuffix(b, []byte("\n\n")) {
			err = errors.New("it ends in the middle of an event")
		}
		if err == nil && bytes.Contains(b, []byte("event: problem")) {
			err = fmt.Errorf("the stream ends with a problem: %.300q", b[bytes.Index(b, []byte("event: problem")):])
		}
		ended <- err
	}()
}

// isGone fails the test if a process still listens at the node's address.
func isGone(t *testing.T, node *harness.Node) {
	t.Helper()
	if conn, err := dial(node); err == nil {
		_ = conn.Close()
		t.Errorf("a process still answers at %s", node.URL)
	}
}

func dial(node *harness.Node) (net.Conn, error) {
	u, err := url.Parse(node.URL)
	if err != nil {
		return nil, err
	}
	return net.DialTimeout("tcp", u.Host, time.Second)
}

// expectant sends a request's body once the node has begun to read it. Bytes that were
// merely sent may be in the buffer of a socket that was not accepted yet.
type expectant struct{}

func (expectant) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Expect", "100-continue")
	return (&http.Transport{ExpectContinueTimeout: harness.WaitTimeout, DisableKeepAlives: true}).RoundTrip(req)
}

func TestRunningImportFinishesAfterSIGTERM(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 100, Images: 40, ImageBytes: 40_000})
	for _, finishes := range []bool{false, true} {
		body := &drip{rest: file.Bytes, gate: make(chan int, 1)}
		body.gate <- len(file.Bytes) / 2
		over := make(chan error, 1)
		cl := node.Client()
		cl.HTTP = &http.Client{Transport: expectant{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_, err := cl.Import(ctx, body, int64(len(file.Bytes)), client.ImportOptions{})
			over <- err
		}()
		body.await(t, len(file.Bytes)/2)
		began := time.Now()
		node.Signal(t)
		harness.Await(t, "the node takes no more calls", func() error {
			conn, err := dial(node)
			if err == nil {
				_ = conn.Close()
				return errors.New("it still does")
			}
			return nil
		})
		if finishes {
			close(body.gate)
		}
		if code := node.Wait(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
		t.Logf("the sender finishes: %v; the process ended %v after SIGTERM", finishes, time.Since(began).Round(time.Millisecond))
		if !finishes {
			close(body.gate)
		}
		if err := <-over; (err == nil) != finishes {
			t.Errorf("the sender finishes: %v; the import: %v", finishes, err)
		}
		node.Start(t)
		if there := wholeOrAbsent(t, node.Client(), file); there != finishes {
			t.Errorf("the sender finishes: %v; the session exists: %v", finishes, there)
		}
	}
}

func TestSecondNodeOnDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	first := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 5})
	id := importFile(t, first.Client(), file)

	second := harness.NewNode(t, "--data", first.Data)
	r := second.Run(t)
	if r.Code != 1 || !strings.Contains(r.Err, "in use by another node") ||
		!strings.Contains(r.Err, strconv.Itoa(first.Pid())) || !strings.Contains(r.Err, first.Data) {
		t.Errorf("a second node on the directory: %s", r)
	}
	t.Logf("refused: %s", lastLine(r.Err))

	u, err := url.Parse(first.URL)
	if err != nil {
		t.Fatal(err)
	}
	third := harness.NewNode(t, "--listen", u.Host)
	r = third.Run(t)
	if r.Code != 1 || !strings.Contains(r.Err, u.Host) || !strings.Contains(r.Err, "--listen") {
		t.Errorf("a second node at the address: %s", r)
	}
	t.Logf("refused: %s", lastLine(r.Err))

	sameBytes(t, "the first node's session", harness.Export(t, first.Client(), id), file.Bytes)
	first.Kill() // the lock ends with its process
	second.Start(t)
	sameBytes(t, "the session through the next node", harness.Export(t, second.Client(), id), file.Bytes)
}

func TestFollowerSeesEveryRecord(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 20, Images: 2})
	id := importFile(t, node.Client(), file)
	cl := node.Client()
	appendText(t, cl, id, "the first", client.AppendOptions{})

	// Two followers: one through the Go client, one through sessctl.
	host := harness.NewHost(t, node)
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.WaitTimeout)
	defer cancel()
	seen := make(chan api.Event, 10_000)
	go func() {
		err := cl.Follow(ctx, id, core.Cursor{}, true, func(ev api.Event) error {
			seen <- ev
			return nil
		})
		if ctx.Err() == nil {
			t.Errorf("client.Follow ends: %v", err)
		}
	}()
	tail := host.Command(ctx, t, "tail", "-f", id, "-o", "json")
	var complaint strings.Builder
	tail.Stderr = &complaint
	printed, err := tail.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = tail.Wait()
		if complaint.Len() > 0 {
			t.Logf("sessctl tail -f says: %s", complaint.String())
		}
	})
	shown := make(chan api.Event, 10_000)
	go readEvents(printed, shown)

	callers := gather(t, id, 4, func() *client.Client { return cl })
	var events, lines []api.Event
	for round := range often(3) {
		callers.await(40)
		events = append(events, receive(t, seen, 20)...)
		lines = append(lines, receive(t, shown, 20)...)
		if round%2 == 0 {
			node.Kill()
		} else if code := node.Terminate(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
		node.Start(t)
	}
	callers.await(10)
	callers.leave()
	info, err := cl.Info(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	end := info.Log.Cursor
	events = append(events, receiveUpTo(t, seen, end)...)
	lines = append(lines, receiveUpTo(t, shown, end)...)
	gapless(t, "client.Follow", events, end)
	gapless(t, "sessctl tail -f", lines, end)
	sameBytes(t, "the entries of all events", linesOf(events), harness.Export(t, cl, id))

	// A follower that starts at a cursor gets the records after it and nothing else.
	middle := events[len(events)/2]
	var rest []api.Event
	err = cl.Follow(harness.Timeout(t), id, middle.Cursor, false, func(ev api.Event) error {
		rest = append(rest, ev)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rest) != len(events)-len(events)/2-1 || len(rest) > 0 && rest[0].Seq != middle.Seq+1 {
		t.Errorf("%d records after %s of %d", len(rest), middle.Cursor, len(events))
	}
	strange := core.Cursor{Seq: middle.Seq, Chain: [8]byte{1}}
	if err := cl.Follow(harness.Timeout(t), id, strange, false, func(api.Event) error { return nil }); !errors.Is(err, core.ErrLost) {
		t.Errorf("a cursor of another history: %v", err)
	}
	t.Logf("%d records, each seen once by both followers, over %d restarts", len(events), often(3))
}
