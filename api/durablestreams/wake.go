package durablestreams

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
)

// A Row is a session in a listing.
type Row struct {
	ID   core.SessionID
	Name string
}

// Rows are the listings that subscriptions are found in.
type Rows interface {
	// List returns the rows whose ids begin with prefix that changed since a time, and a
	// mark to continue from.
	List(ctx context.Context, prefix string, since time.Time) ([]Row, string, error)
	// Changes returns rows that changed after a mark, oldest change first, and the mark to
	// continue from. It returns none if there are none yet.
	Changes(ctx context.Context, prefix, after string) ([]Row, string, error)
}

// IDPrefix begins the ids of the sessions of streams. A caller who may use all of these
// ids may use every stream.
const IDPrefix = "ds-"

// IsSubscription reports whether a session holds a subscription. Its lines name the streams
// that the subscription reads and the one that gets its wakes.
func IsSubscription(id core.SessionID) bool {
	return strings.HasPrefix(string(id), subscriptionPrefix)
}

// subscriptionPrefix begins those of subscriptions.
var subscriptionPrefix = strings.TrimSuffix(string(SessionID(subscriptions+"x", 1)), "x")

const (
	// checkEvery is how often leases are checked, and changes of other nodes are read.
	checkEvery = time.Second
	// catchUp is how long before the last record of a subscription streams may have
	// changed that it does not know of.
	catchUp = time.Minute
)

// A waker wakes the subscriptions of a log. It is used by one goroutine.
type waker struct {
	h     *Handler
	known map[core.SessionID]int64 // the wake of a subscription that was announced
	mark  string
	again map[core.SessionID]string // subscriptions, and the paths of streams, that failed
}

// Run wakes subscriptions until ctx ends. All nodes do, and the log decides whose wake it is.
func (h *Handler) Run(ctx context.Context) {
	for ctx.Err() == nil {
		k := &waker{h: h, known: map[core.SessionID]int64{}, again: map[core.SessionID]string{}}
		if err := k.run(ctx); ctx.Err() == nil {
			h.cfg.Logger.Warn("subscriptions cannot be followed; retrying", "err", err)
		}
		wait(ctx, 5*time.Second, nil)
	}
}

// wait returns after a pause, or at a nudge.
func wait(ctx context.Context, pause time.Duration, nudged <-chan struct{}) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-nudged:
	case <-ctx.Done():
	}
}

// nudge has the waker look now.
func (h *Handler) nudge() {
	select {
	case h.nudged <- struct{}{}:
	default:
	}
}

func (k *waker) run(ctx context.Context) error {
	rows, mark, err := k.h.cfg.Rows.List(ctx, subscriptionPrefix, time.Time{})
	if err != nil {
		return err
	}
	k.mark = mark
	var checked time.Time
	for {
		for _, r := range rows {
			k.changed(ctx, r)
		}
		if now := k.h.now(); now.Sub(checked) >= checkEvery {
			checked = now
			again := k.again
			k.again = map[core.SessionID]string{}
			for id := range k.known {
				k.check(ctx, id)
			}
			k.retry(ctx, again)
		}
		if len(rows) == 0 {
			wait(ctx, checkEvery, k.h.nudged)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		k.nudged(ctx)
		prefix := IDPrefix
		if len(k.known) == 0 {
			prefix = subscriptionPrefix
		}
		if rows, k.mark, err = k.h.cfg.Rows.Changes(ctx, prefix, k.mark); err != nil {
			return err
		}
	}
}

// retry handles what failed before.
func (k *waker) retry(ctx context.Context, again map[core.SessionID]string) {
	for id, path := range again {
		if path != "" {
			k.changed(ctx, Row{ID: id, Name: path})
		} else if sess := k.open(ctx, id, func(*subscription) {}); sess != nil {
			k.advance(ctx, sess)
		}
	}
}

// later has the waker handle a stream, or a subscription without a path, again.
func (k *waker) later(id core.SessionID, path string) {
	if len(k.again) < maxCached {
		k.again[id] = path
	}
}

// changed handles a change of a session.
func (k *waker) changed(ctx context.Context, r Row) {
	if !strings.HasPrefix(string(r.ID), subscriptionPrefix) {
		for id := range k.known {
			k.consider(ctx, id, r)
		}
		return
	}
	if _, ok := k.known[r.ID]; !ok {
		k.known[r.ID] = 0
		if err := k.catchUp(ctx, r.ID); err != nil {
			delete(k.known, r.ID)
			k.later(r.ID, r.Name)
			return
		}
	}
	k.check(ctx, r.ID)
}

// open returns the session of a subscription, nil if it is gone or cannot be read now.
func (k *waker) open(ctx context.Context, id core.SessionID, f func(*subscription)) *engine.Session {
	sess, err := k.h.cfg.Cached(ctx, id)
	if err == nil {
		err = k.h.viewSubscription(sess, func(s *subscription) error {
			f(s)
			return nil
		})
	}
	if err == nil {
		var l life
		if l, err = k.h.lifeOf(sess); err == nil && l != alive {
			err = errNoSubscription()
		}
	}
	if err != nil {
		if isMissing(err) || errors.Is(err, core.ErrDeleted) || isRefused(err) || errors.Is(err, core.ErrInvalid) {
			delete(k.known, id)
		}
		return nil
	}
	return sess
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*refusal](err)
	return ok
}

// catchUp considers the streams that changed before the subscription was known here.
func (k *waker) catchUp(ctx context.Context, id core.SessionID) error {
	var since time.Time
	sess := k.open(ctx, id, func(s *subscription) { since = s.changed })
	if sess == nil {
		if _, still := k.known[id]; still {
			return core.ErrUnavailable
		}
		return nil
	}
	rows, _, err := k.h.cfg.Rows.List(ctx, IDPrefix, since.Add(-catchUp))
	if err != nil {
		k.warn(id, err)
		return err
	}
	for _, r := range rows {
		k.consider(ctx, id, r)
	}
	k.advance(ctx, sess)
	return nil
}

// consider wakes a subscription if a stream that changed belongs to it.
func (k *waker) consider(ctx context.Context, id core.SessionID, r Row) {
	if !strings.HasPrefix(string(r.ID), string(SessionID(r.Name, 1))) {
		return // a name that is not a path
	}
	var l link
	var known, matches bool
	var created time.Time
	sess := k.open(ctx, id, func(s *subscription) {
		l, known = s.links[r.Name]
		matches, created = s.matches(r.Name), s.created
	})
	if _, still := k.known[id]; sess == nil && still {
		k.later(r.ID, r.Name)
	}
	if sess == nil || !known && !matches {
		return
	}
	if known {
		created = time.Time{} // its first offset is not needed
	}
	tail, first, ok, err := k.endsOf(ctx, r.Name, created)
	if err != nil && !isRefused(err) {
		k.later(r.ID, r.Name)
	}
	if !ok {
		return
	}
	if !known {
		l = link{Acked: first}
	}
	if tail <= l.Acked {
		return
	}
	i := info{l.shown(r.Name), formatOffset(tail), true, tail}
	_, err = k.h.wake(ctx, sess, []info{i}, func(s *subscription) map[string]*link {
		if _, has := s.links[r.Name]; has || len(s.links) >= maxLinks {
			return nil
		}
		return map[string]*link{r.Name: &l}
	})
	if err != nil {
		k.later(r.ID, r.Name)
	}
	k.warn(id, err)
}

// endsOf returns where a stream ends, and where it ended at a time.
func (k *waker) endsOf(ctx context.Context, path string, at time.Time) (tail, then int64, ok bool, err error) {
	f, err := k.h.find(ctx, path, k.h.cfg.Open)
	if err != nil || f.sess == nil {
		return 0, 0, false, err
	}
	err = k.h.view(f.sess, func(st *core.State, s *stream) error {
		tail = s.state.Tail
		n := s.state.Folded()
		for n > 0 && !at.IsZero() {
			if t, err := time.Parse(time.RFC3339, st.Entries[n-1].Time); err == nil && t.Before(at) {
				break
			}
			n--
		}
		if n > 0 {
			then = s.state.End(n - 1)
		}
		return nil
	})
	return tail, then, err == nil, err
}

// check handles what a subscription is to have after some time: the end of its lease, the
// next try of its webhook, and the event of its wake.
func (k *waker) check(ctx context.Context, id core.SessionID) {
	var q wanted
	var l lease
	sess := k.open(ctx, id, func(s *subscription) { q, l = s.wanted, s.lease })
	if sess == nil {
		return
	}
	now := k.h.now()
	switch {
	case l.Wake != "" && !l.Until.IsZero() && !now.Before(l.Until),
		l.Wake == "" && !l.NotBefore.IsZero() && !now.Before(l.NotBefore):
		k.advance(ctx, sess)
	case q.Type == byPull && l.Wake != "" && l.Holder == "" && k.known[id] != l.Generation:
		if err := k.announce(ctx, id, q.WakeStream, l); err != nil {
			k.warn(id, err)
			return
		}
		k.known[id] = l.Generation
	}
}

func (k *waker) advance(ctx context.Context, sess *engine.Session) {
	if _, err := k.h.advance(ctx, sess); err != nil {
		k.later(sess.ID(), "")
		k.warn(sess.ID(), err)
	}
}

func (k *waker) warn(id core.SessionID, err error) {
	if err != nil && !isRefused(err) {
		k.h.cfg.Logger.Warn("a subscription could not be woken; retrying", "session", id, "err", err)
	}
}

// advanceSoon has the waker advance a subscription, which may be new.
func (h *Handler) advanceSoon(id core.SessionID) {
	h.mu.Lock()
	h.due[id] = true
	h.subscribed = true
	h.mu.Unlock()
	h.nudge()
}

// appended has the waker look at a stream to which this node appended. The listing would
// tell it later.
func (h *Handler) appended(id core.SessionID, path string) {
	h.mu.Lock()
	look := h.subscribed && len(h.grown) < maxCached
	if look {
		h.grown[id] = path
	}
	h.mu.Unlock()
	if look {
		h.nudge()
	}
}

// nudged handles what this node did meanwhile.
func (k *waker) nudged(ctx context.Context) {
	k.h.mu.Lock()
	due, grown := k.h.due, k.h.grown
	k.h.due, k.h.grown = map[core.SessionID]bool{}, map[core.SessionID]string{}
	k.h.subscribed = len(k.known)+len(due) > 0
	k.h.mu.Unlock()
	for id := range due {
		if _, ok := k.known[id]; !ok {
			k.known[id] = 0
		}
		if sess := k.open(ctx, id, func(*subscription) {}); sess != nil {
			k.advance(ctx, sess)
		}
		k.check(ctx, id)
	}
	for id, path := range grown {
		k.changed(ctx, Row{ID: id, Name: path})
	}
}

// announce appends the event of a wake to a stream. The subscription is the producer and
// the wake its epoch, so the stream has each event once, whichever nodes append it.
func (k *waker) announce(ctx context.Context, id core.SessionID, path string, l lease) error {
	b, _ := json.Marshal(map[string]any{
		"type": "wake", "subscription_id": k.idOf(ctx, id), "generation": l.Generation, "ts": k.h.now().UnixMilli(),
	})
	f, err := k.h.find(ctx, path, k.h.cfg.Open)
	if err != nil || f.sess == nil {
		return err // workers can claim without the event
	}
	line := bytestream.NewValues([]json.RawMessage{b})
	q := &appendRequest{
		path: path, contentType: bytestream.ContentJSON, line: &line, done: make(chan struct{}),
		producer: &bytestream.Producer{ID: string(id), Epoch: l.Generation},
	}
	if err := k.h.submit(ctx, f.sess, q); err != nil {
		return err
	}
	if isRefused(q.answer.err) { // it is closed, or not one of JSON
		return nil
	}
	return q.answer.err
}

// idOf returns the id of a subscription by its session.
func (k *waker) idOf(ctx context.Context, session core.SessionID) (id string) {
	if sess, err := k.h.cfg.Cached(ctx, session); err == nil {
		id = k.h.idOf(sess)
	}
	return id
}

func (h *Handler) idOf(sess *engine.Session) (id string) {
	_ = h.view(sess, func(_ *core.State, s *stream) error {
		id = strings.TrimPrefix(s.config.Path, subscriptions)
		return nil
	})
	return id
}

// A delivery is a wake on its way to a webhook.
type delivery struct {
	url, base, token string
	lease            lease
	streams          []info
}

// maxDeliveries bounds the webhooks that a node calls at once, maxWorkers the calls of
// workers that it answers.
const maxDeliveries, maxWorkers = 16, 64

// deliverLater calls a webhook. If the node stops before, another wake follows this one.
func (h *Handler) deliverLater(sess *engine.Session, d delivery) {
	go func() {
		ctx := h.cfg.Stopping
		select {
		case h.delivering <- struct{}{}:
			defer func() { <-h.delivering }()
		case <-ctx.Done():
			return
		}
		if h.now().After(d.lease.Until) {
			return
		}
		if err := h.deliver(ctx, sess, d); err != nil && ctx.Err() == nil && !isRefused(err) {
			h.cfg.Logger.Warn("the outcome of a webhook could not be stored; the subscription is woken again", "session", sess.ID(), "err", err)
		}
	}()
}

func (h *Handler) deliver(ctx context.Context, sess *engine.Session, d delivery) error {
	id := h.idOf(sess)
	streams := h.told(ctx, sess, d.streams)
	body, _ := json.Marshal(map[string]any{
		"subscription_id": id, "wake_id": d.lease.Wake, "generation": d.lease.Generation, "streams": streams,
		"callback_url": d.base + (&url.URL{Path: Prefix + subscriptions + id + "/callback"}).String(), "callback_token": d.token,
	})
	done := false
	err := h.cfg.Webhooks.check(d.url)
	if err == nil {
		within, cancel := context.WithTimeout(ctx, d.lease.Until.Sub(h.now())*3/4) // or its failure would not count
		done, err = h.post(within, d.url, body)
		cancel()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failure := err
	err = h.change(ctx, sess, func(s *subscription) (*change, error) {
		l := s.lease
		if l.Wake != d.lease.Wake { // another one has it
			return nil, nil
		}
		c := &change{Lease: &l}
		switch {
		case failure != nil:
			l = l.failed(h.now())
		case done:
			l = l.free()
			c.Links = s.ackedAll(streams)
		case l.Failures == 0:
			return nil, nil
		default:
			l.Failures = 0
		}
		return c, nil
	})
	if failure != nil {
		h.cfg.Logger.Warn("a webhook failed; retrying", "session", sess.ID(), "err", failure)
	}
	if err == nil && done {
		_, err = h.advance(ctx, sess)
		if err != nil {
			h.advanceSoon(sess.ID())
		}
	}
	return err
}

// told returns the streams of a subscription. Those that woke it end no earlier than then,
// even if what is cached lags.
func (h *Handler) told(ctx context.Context, sess *engine.Session, woke []info) []info {
	all, _, _ := h.infos(ctx, sess, h.cfg.Cached) // without those that cannot be read
	for _, i := range woke {
		at := slices.IndexFunc(all, func(other info) bool { return other.Path == i.Path })
		switch {
		case at < 0:
			all = append(all, i)
		case all[at].tail < i.tail:
			all[at] = i
		}
	}
	return all
}

// ackedAll returns the links after all that a worker was told of is done.
func (s *subscription) ackedAll(all []info) map[string]*link {
	out := map[string]*link{}
	for _, i := range all {
		if l, ok := s.links[i.Path]; ok && i.tail > l.Acked {
			l.Acked = i.tail
			out[i.Path] = &l
		}
	}
	return out
}
