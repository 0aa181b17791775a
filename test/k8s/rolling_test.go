package k8s_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// Replaces all nodes one by one, as a StatefulSet does, while callers append and
// follow through the Service, several to each session. It logs throughput and
// latencies.
func TestRollingRestartFailsNoAppendAndNoFollower(t *testing.T) {
	t.Parallel()
	o, settled := demand{rate: 50, sessions: 10, writers: 2, followers: 10}, 1
	w := newWorld(t, "cluster")
	if *long {
		o, settled = demand{rate: *rate, sessions: 50, writers: 10, followers: 100}, w.manifest.minReady
	}
	pods := startPods(t, w)
	t.Cleanup(func() { explain(t, pods) })
	front := startService(t)
	for _, p := range pods {
		front.add(p.port(t, "http"))
	}
	c := &client.Client{
		Base: front.url(), Token: w.secret["token"],
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.sessions*o.writers + o.followers}},
	}
	l := startLoad(t, c, o)
	l.await(t, o.rate) // one second
	began := time.Now()
	for i := len(pods) - 1; i >= 0; i-- {
		from := time.Now()
		roll(t, pods[i], front, func() { l.await(t, o.rate) })
		l.await(t, o.rate*settled) // the appends of that time
		l.restarts = append(l.restarts, span{pods[i].name, from, time.Now()})
	}
	took := time.Since(began)
	l.finish(t)
	l.check(t)
	t.Logf("three nodes replaced in %v; %d appends/s were asked for, by %d writers to each of %d sessions with %d followers",
		took.Round(time.Millisecond), o.rate, o.writers, o.sessions, o.followers)
	l.report(t)
}

// explain logs the status of the nodes if the test has failed.
func explain(t *testing.T, pods []*pod) {
	if !t.Failed() {
		return
	}
	for _, p := range pods {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		status, err := p.client(t).Status(ctx)
		cancel()
		text, _ := json.Marshal(status)
		t.Logf("%s: %s, %v", p.name, text, err)
	}
}

// roll replaces a pod. The pod stays in the Service during preStop, which is the
// worst case: in a cluster most callers learn of the removal earlier.
func roll(t *testing.T, p *pod, front *service, preStop func()) {
	t.Helper()
	began := time.Now()
	preStop()
	front.remove(p.port(t, "http"))
	p.Signal(t)
	signalled := time.Now()
	select {
	case <-p.Done():
	case <-time.After(p.world.manifest.grace() - p.world.manifest.preStop()):
		t.Errorf("%s would be killed", p.name)
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("%s ends with %d", p.name, code)
	}
	ended := time.Now()
	replace(t, p)
	front.add(p.port(t, "http"))
	t.Logf("%s: %v before SIGTERM, %v to end, %v until it was ready again", p.name, signalled.Sub(began).Round(time.Millisecond),
		ended.Sub(signalled).Round(time.Millisecond), time.Since(ended).Round(time.Millisecond))
}

// A demand is the load of the callers.
type demand struct {
	rate      int // appends in a second, by all writers
	sessions  int
	writers   int // of each session
	followers int // of all sessions together
}

// A load is a set of callers that append and follow until stop is called.
type load struct {
	demand
	cl       *client.Client
	ids      []string // of the sessions
	stop     context.CancelFunc
	callers  sync.WaitGroup
	restarts []span

	mu      sync.Mutex
	changed *sync.Cond
	acks    []ack
	retries int
	failed  int
	events  []*seen // of each follower
}

// A span is the time of a node's restart, including minReady.
type span struct {
	node     string
	from, to time.Time
}

type ack struct {
	session, key string
	at           time.Time
	took         time.Duration
}

// seen is what a follower received.
type seen struct {
	session  string
	last     core.Cursor
	records  int
	lost     int // records that were skipped
	repeated int
	at       time.Time
	silence  time.Duration // the longest
}

func startLoad(t *testing.T, c *client.Client, o demand) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{demand: o, cl: c, stop: stop}
	l.changed = sync.NewCond(&l.mu)
	for i := range o.sessions {
		id := fmt.Sprintf("rolling-session-%d", i)
		if _, err := c.Create(harness.Timeout(t), api.Create{ID: id, CWD: "/w"}); err != nil {
			t.Fatal(err)
		}
		l.ids = append(l.ids, id)
	}
	for i := range o.followers {
		s := &seen{session: l.ids[i%o.sessions]}
		l.events = append(l.events, s)
		go l.follow(t, s)
	}
	for _, id := range l.ids {
		for n := range o.writers {
			l.callers.Go(func() { l.write(ctx, t, id, n) })
		}
	}
	t.Cleanup(func() {
		stop()
		l.callers.Wait()
	})
	return l
}

// write appends to a session, at its share of the rate, until ctx ends.
func (l *load) write(ctx context.Context, t *testing.T, id string, who int) {
	tick := time.NewTicker(time.Second * time.Duration(len(l.ids)*l.writers) / time.Duration(l.rate))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		key := fmt.Sprintf("%s/%d-%d.", id, who, n)
		began := time.Now()
		err := l.append(t, id, key)
		l.mu.Lock()
		if err != nil {
			l.failed++
		} else {
			l.acks = append(l.acks, ack{id, key, time.Now(), time.Since(began)})
		}
		l.mu.Unlock()
		l.changed.Broadcast()
		if err != nil {
			t.Errorf("append %s, after %v: %v", key, time.Since(began), err)
			return
		}
	}
}

// append stores a line. If it was not stored, or the outcome is unknown, append
// retries with the same key.
func (l *load) append(t *testing.T, id, key string) error {
	line := []byte(harness.Message("user", key))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), harness.WaitTimeout)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		_, err := l.cl.Append(ctx, id, line, client.AppendOptions{Key: key})
		if err == nil || !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) {
			return err
		}
		l.mu.Lock()
		l.retries++
		l.mu.Unlock()
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// follow records what a follower of a session receives, with gaps and duplicates.
func (l *load) follow(t *testing.T, s *seen) {
	err := l.cl.Follow(t.Context(), s.session, core.Cursor{}, true, func(ev api.Event) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch next := s.last.Seq + 1; {
		case ev.Seq > next:
			s.lost += int(ev.Seq - next)
		case ev.Seq < next:
			s.repeated++
		}
		if !s.at.IsZero() {
			s.silence = max(s.silence, time.Since(s.at))
		}
		s.last, s.at = ev.Cursor, time.Now()
		s.records++
		l.changed.Broadcast()
		return nil
	})
	if t.Context().Err() == nil {
		t.Errorf("a follower of %s: %v", s.session, err)
	}
}

// await waits until n more appends have been answered.
func (l *load) await(t *testing.T, n int) {
	t.Helper()
	l.until(t, fmt.Sprintf("%d more appends", n), func() func() bool {
		want := len(l.acks) + n
		return func() bool { return len(l.acks) >= want }
	})
}

// until waits for the condition that begin returns. Both are called with the lock.
func (l *load) until(t *testing.T, what string, begin func() func() bool) {
	t.Helper()
	late := time.AfterFunc(2*harness.WaitTimeout, l.changed.Broadcast)
	defer late.Stop()
	deadline := time.Now().Add(2 * harness.WaitTimeout)
	l.mu.Lock()
	defer l.mu.Unlock()
	for done := begin(); !done(); l.changed.Wait() {
		if t.Failed() || !time.Now().Before(deadline) {
			t.Fatalf("%s: not within %v, or something else has failed", what, 2*harness.WaitTimeout)
		}
	}
}

// finish stops the writers and waits until each follower has received everything.
func (l *load) finish(t *testing.T) {
	t.Helper()
	l.stop()
	l.callers.Wait()
	ends := map[string]core.Cursor{}
	for _, id := range l.ids {
		info, err := l.cl.Info(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		ends[id] = info.Log.Cursor
	}
	l.until(t, "the followers have everything", func() func() bool {
		return func() bool {
			return !slices.ContainsFunc(l.events, func(s *seen) bool { return s.last.Seq < ends[s.session].Seq })
		}
	})
	for _, s := range l.events {
		if s.last != ends[s.session] {
			t.Errorf("a follower of %s is at %s, and its end is %s", s.session, s.last, ends[s.session])
		}
		if s.lost+s.repeated > 0 {
			t.Errorf("a follower of %s missed %d records, and received %d twice", s.session, s.lost, s.repeated)
		}
	}
}

// check verifies that each acknowledged line is stored exactly once.
func (l *load) check(t *testing.T) {
	t.Helper()
	for _, id := range l.ids {
		file := harness.Export(t, l.cl, id)
		acked := 0
		for _, a := range l.acks {
			if a.session != id {
				continue
			}
			acked++
			if n := bytes.Count(file, []byte(a.key)); n != 1 {
				t.Errorf("%s was acknowledged, and is stored %d times", a.key, n)
			}
		}
		if n := bytes.Count(file, []byte(id+"/")); n != acked {
			t.Errorf("%s has %d lines, and %d were acknowledged", id, n, acked)
		}
	}
}

// report logs throughput and latencies.
func (l *load) report(t *testing.T) {
	t.Helper()
	slices.SortFunc(l.acks, func(a, b ack) int { return a.at.Compare(b.at) })
	whole := span{"all the time", l.acks[0].at, l.acks[len(l.acks)-1].at}
	t.Logf("%d appends in %v, %.0f/s; %d requests sent again, %d failed after that", len(l.acks), ms(whole.to.Sub(whole.from)),
		float64(len(l.acks))/whole.to.Sub(whole.from).Seconds(), l.retries, l.failed)
	for _, r := range append(l.restarts, whole) {
		t.Logf("%s: %s", r.node, l.during(r))
	}
	records, lost, repeated := 0, 0, 0
	var silence time.Duration
	for _, s := range l.events {
		records, lost, repeated, silence = records+s.records, lost+s.lost, repeated+s.repeated, max(silence, s.silence)
	}
	t.Logf("%d followers: %d records, %d lost, %d sent twice; one heard nothing for %v", len(l.events), records, lost, repeated, ms(silence))
}

// during returns the latencies in r. The appends are in the order of their answers.
func (l *load) during(r span) string {
	var took []time.Duration
	var pause time.Duration
	last := r.from
	for _, a := range l.acks {
		if a.at.Before(r.from) || a.at.After(r.to) {
			continue
		}
		took, pause, last = append(took, a.took), max(pause, a.at.Sub(last)), a.at
	}
	if len(took) == 0 {
		return "no append was answered"
	}
	slices.Sort(took)
	return fmt.Sprintf("longest pause %v in which no append was answered; an append took %v (p50), %v (p99), %v at most",
		ms(max(pause, r.to.Sub(last))), ms(took[len(took)/2]), ms(took[len(took)*99/100]), ms(took[len(took)-1]))
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
