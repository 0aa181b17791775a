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
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// All nodes are replaced, one after the other, as a StatefulSet does it, while
// callers write and follow through the Service. It prints how long they had to
// wait.
func TestARollingRestartFailsNoAppendAndNoFollower(t *testing.T) {
	t.Parallel()
	rate, followers, sessions, settled := 50, 10, 20, 1
	w := newWorld(t, "cluster")
	if *long {
		rate, followers, sessions, settled = 500, 100, 200, w.manifest.minReady
	}
	pods := startPods(t, w)
	t.Cleanup(func() { explain(t, pods) })
	front := startService(t)
	for _, p := range pods {
		front.add(p.port(t, "http"))
	}
	c := &api.Client{
		Base: front.url(), Token: w.secret["token"],
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: sessions + followers}},
	}
	l := startLoad(t, c, rate, sessions, followers)
	l.await(t, rate) // a second's worth
	began := time.Now()
	for i := len(pods) - 1; i >= 0; i-- {
		roll(t, pods[i], front, func() { l.await(t, rate) })
		l.await(t, rate*settled) // what callers do in that time
	}
	took := time.Since(began)
	l.finish(t)
	l.check(t)
	t.Logf("three nodes replaced in %v, at %d appends/s and %d followers", took.Round(time.Millisecond), rate, followers)
	l.report(t)
}

// explain logs how the nodes see the log, where the test has failed.
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

// roll replaces a pod. It is behind the Service while it goes on before it
// stops, the worst that can be: in truth most callers know sooner.
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

// A load is callers that write and follow until they are told to end.
type load struct {
	client   *api.Client
	rate     int
	sessions []string
	stop     context.CancelFunc
	writers  sync.WaitGroup
	ended    []chan struct{} // one for each follower

	mu      sync.Mutex
	changed *sync.Cond
	acks    []ack
	retries int
	events  []*seen // of each follower
}

type ack struct {
	session, key string
	at           time.Time
	took         time.Duration
}

// seen is what a follower was sent.
type seen struct {
	session string
	last    core.Cursor
	records int
	at      time.Time
	silence time.Duration // the longest
}

func startLoad(t *testing.T, c *api.Client, rate, sessions, followers int) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{client: c, rate: rate, stop: stop}
	l.changed = sync.NewCond(&l.mu)
	for i := range sessions {
		id := fmt.Sprintf("rolling-session-%d", i)
		if _, err := c.Create(harness.Timeout(t), api.Create{ID: id, CWD: "/w"}); err != nil {
			t.Fatal(err)
		}
		l.sessions = append(l.sessions, id)
	}
	for i := range followers {
		s, ended := &seen{session: l.sessions[i%sessions]}, make(chan struct{})
		l.events, l.ended = append(l.events, s), append(l.ended, ended)
		go l.follow(t, s, ended)
	}
	for _, id := range l.sessions {
		l.writers.Go(func() { l.write(ctx, t, id) })
	}
	t.Cleanup(func() {
		stop()
		l.writers.Wait()
	})
	return l
}

// write is an agent: it appends to its session, at its share of the rate, until ctx ends.
func (l *load) write(ctx context.Context, t *testing.T, id string) {
	tick := time.NewTicker(time.Second * time.Duration(len(l.sessions)) / time.Duration(l.rate))
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		key := fmt.Sprintf("%s/%d.", id, n)
		began := time.Now()
		if err := l.append(t, id, key); err != nil {
			t.Errorf("append %s: %v", key, err)
			return
		}
		l.mu.Lock()
		l.acks = append(l.acks, ack{id, key, time.Now(), time.Since(began)})
		l.mu.Unlock()
		l.changed.Broadcast()
	}
}

// append stores a line as any caller would: where it was not stored, or nobody
// knows, the same goes again.
func (l *load) append(t *testing.T, id, key string) error {
	line := []byte(harness.Message("user", key))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), harness.Patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		_, err := l.client.Append(ctx, id, line, api.AppendOptions{Key: key})
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

// follow notes what a follower of a session is sent, and what it should not be.
func (l *load) follow(t *testing.T, s *seen, ended chan struct{}) {
	defer close(ended)
	err := l.client.Follow(t.Context(), s.session, core.Cursor{}, true, func(ev api.Event) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if ev.Seq != s.last.Seq+1 {
			return fmt.Errorf("record %d came after record %d", ev.Seq, s.last.Seq)
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

// await returns once n more appends have been answered.
func (l *load) await(t *testing.T, n int) {
	t.Helper()
	l.until(t, fmt.Sprintf("%d more appends", n), func() func() bool {
		want := len(l.acks) + n
		return func() bool { return len(l.acks) >= want }
	})
}

// until returns once what begin returns is true. Both are called under the lock.
func (l *load) until(t *testing.T, what string, begin func() func() bool) {
	t.Helper()
	late := time.AfterFunc(2*harness.Patience, l.changed.Broadcast)
	defer late.Stop()
	deadline := time.Now().Add(2 * harness.Patience)
	l.mu.Lock()
	defer l.mu.Unlock()
	for done := begin(); !done(); l.changed.Wait() {
		if t.Failed() || !time.Now().Before(deadline) {
			t.Fatalf("%s: not within %v, or something else has failed", what, 2*harness.Patience)
		}
	}
}

// finish ends the writers, and returns once each follower has all there is.
func (l *load) finish(t *testing.T) {
	t.Helper()
	l.stop()
	l.writers.Wait()
	ends := map[string]core.Cursor{}
	for _, id := range l.sessions {
		info, err := l.client.Info(harness.Timeout(t), id)
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
	}
}

// check holds the sessions to what was answered: each line once.
func (l *load) check(t *testing.T) {
	t.Helper()
	for _, id := range l.sessions {
		file := export(t, l.client, id)
		acked := 0
		for _, a := range l.acks {
			if a.session != id {
				continue
			}
			acked++
			if n := bytes.Count(file, []byte(a.key)); n != 1 {
				t.Errorf("%s was answered, and is there %d times", a.key, n)
			}
		}
		if n := bytes.Count(file, []byte(id+"/")); n != acked {
			t.Errorf("%s has %d lines, and %d were answered", id, n, acked)
		}
	}
}

// report prints how long callers had to wait.
func (l *load) report(t *testing.T) {
	t.Helper()
	slices.SortFunc(l.acks, func(a, b ack) int { return a.at.Compare(b.at) })
	var pause, silence time.Duration
	var took []time.Duration
	for i, a := range l.acks {
		took = append(took, a.took)
		if i > 0 {
			pause = max(pause, a.at.Sub(l.acks[i-1].at))
		}
	}
	records := 0
	for _, s := range l.events {
		silence = max(silence, s.silence)
		records += s.records
	}
	slices.Sort(took)
	whole := l.acks[len(l.acks)-1].at.Sub(l.acks[0].at)
	t.Logf("%d appends in %v, %.0f/s, %d requests sent again; %d records to followers", len(l.acks), whole.Round(time.Millisecond),
		float64(len(l.acks))/whole.Seconds(), l.retries, records)
	t.Logf("longest pause: %v in which no append was answered; an append took %v (p50), %v (p99), %v at most; a follower heard nothing for %v",
		pause.Round(time.Millisecond), took[len(took)/2].Round(time.Millisecond), took[len(took)*99/100].Round(time.Millisecond),
		took[len(took)-1].Round(time.Millisecond), silence.Round(time.Millisecond))
}
