package durablestreams

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// A worked is what a worker says of a wake.
type worked struct {
	Wake       string `json:"wake_id"`
	Generation int64  `json:"generation"`
	Acks       []struct {
		Stream string `json:"stream"`
		Path   string `json:"path"`
		Offset string `json:"offset"`
	} `json:"acks"`
	Done bool `json:"done"`
}

// An info is a stream of a subscription as workers see it.
type info struct {
	shownLink
	Tail    string `json:"tail_offset"`
	Pending bool   `json:"has_pending"`

	tail int64
}

// infos returns the streams of a subscription, and those that no longer exist. If some
// cannot be read now, they have no pending work, and err is why.
func (h *Handler) infos(ctx context.Context, sess *engine.Session, open func(context.Context, core.SessionID) (*engine.Session, error)) (all []info, gone []string, err error) {
	var links map[string]link
	err = h.viewSubscription(sess, func(s *subscription) error {
		links = maps.Clone(s.links)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(links)) {
		l := links[path]
		tail, ok, failed := h.tailOf(ctx, path, open)
		if failed != nil {
			tail, ok, err = l.Acked, true, failed
		}
		if !ok && !l.Explicit {
			gone = append(gone, path)
			continue
		}
		all = append(all, info{l.shown(path), formatOffset(tail), tail > l.Acked, tail})
	}
	return all, gone, err
}

// next returns the lease of the next wake.
func (l lease) next() lease {
	return lease{Generation: l.Generation + 1, Wake: "w_" + randomHex(12), Former: cmp.Or(l.Token, l.Former), Failures: l.Failures}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// give sets the token of a lease until a time, and returns that token.
func (l *lease) give(until time.Time) string {
	token := randomHex(24)
	l.Token, l.Until = digest(token), until
	return token
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// check returns why a worker with a token does not have the lease, or nil. Only a worker
// with the current or the former token learns anything about the lease.
func (l *lease) check(token string, q *worked) error {
	shown := []byte(digest(token))
	switch {
	case subtle.ConstantTimeCompare([]byte(l.Former), shown) == 1:
	case subtle.ConstantTimeCompare([]byte(l.Token), shown) != 1:
		return errToken()
	case q.Wake == l.Wake && q.Generation == l.Generation && l.Wake != "":
		return nil
	}
	return refuseAs(codeFenced, http.StatusConflict, "the wake is over, %d is the current one", l.Generation)
}

func errToken() *refusal {
	return refuseAs(codeToken, http.StatusUnauthorized, "this is not the token of a wake")
}

// claim gives the work of a subscription to a worker.
func (h *Handler) claim(w http.ResponseWriter, r *http.Request, path string) error {
	body, release, err := h.cfg.Body(r)
	if err != nil {
		return err
	}
	defer release()
	var q struct {
		Worker string `json:"worker"`
	}
	if err := readObject(body, &q); err != nil {
		return err
	}
	if q.Worker == "" || len(q.Worker) > maxHeader {
		return invalid("worker is a name of 1 to %d bytes", maxHeader)
	}
	ctx := r.Context()
	sess, err := h.subscription(ctx, path)
	if err != nil {
		return err
	}
	own, cancel := detached(ctx) // the caller may use the subscription, and so sees its streams
	defer cancel()
	all, _, unread := h.infos(own, sess, h.cfg.Open)
	var l lease
	var ttl int64
	token := ""
	err = h.change(ctx, sess, func(s *subscription) (*change, error) {
		l, ttl = s.lease, s.Lease
		switch {
		case s.Type != byPull:
			return nil, invalid("the subscription is not of type %s", byPull)
		case l.Holder != "" && h.now().Before(l.Until):
			return nil, &refusal{status: http.StatusConflict, code: codeClaimed, text: "another worker has the work", holder: l.Holder, generation: l.Generation}
		case !s.isPending(all, nil) && unread != nil:
			return nil, unread
		case !s.isPending(all, nil):
			return nil, refuseAs(codeNoWork, http.StatusConflict, "the subscription has no pending work")
		}
		if l.Wake == "" || l.Holder != "" {
			l = l.next()
		}
		l.Holder = q.Worker
		token = l.give(h.now().Add(s.ttl()))
		return &change{Lease: &l}, nil
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, "application/json", map[string]any{
		"wake_id": l.Wake, "generation": l.Generation, "token": token, "streams": all, "lease_ttl_ms": ttl,
	})
	return nil
}

// maxWork bounds the body of a worker's call.
const maxWork = 1 << 20

// work answers a worker's callback, ack or release.
func (h *Handler) work(w http.ResponseWriter, r *http.Request, path, action string) error {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token == "" {
		return errToken()
	}
	if checkPath("/"+path) != nil {
		return errToken()
	}
	ctx := r.Context()
	sess, err := h.subscription(ctx, path)
	if err == nil { // before anything of the request is read
		err = h.viewSubscription(sess, func(s *subscription) error {
			return s.lease.check(token, &worked{Wake: s.lease.Wake, Generation: s.lease.Generation})
		})
	}
	switch e, ok := errors.AsType[*refusal](err); {
	case ok && e.status == http.StatusNotFound, errors.Is(err, core.ErrInvalid):
		return errToken() // the caller does not learn what exists
	case err != nil:
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxWork)
	body, release, err := h.cfg.Body(r)
	if err != nil {
		return invalid("the body cannot be read: %v", err)
	}
	defer release()
	var q worked
	if err := readObject(body, &q); err != nil {
		return err
	}
	acks, err := h.acksOf(ctx, sess, &q)
	if err != nil {
		return err
	}
	err = h.change(ctx, sess, func(s *subscription) (*change, error) {
		if (action == "callback") != (s.Type == byWebhook) {
			return nil, invalid("the subscription is of type %s, which has no %s", s.Type, action)
		}
		l := s.lease
		if err := l.check(token, &q); err != nil {
			return nil, err
		}
		c := &change{Lease: &l}
		if action == "release" {
			l = l.free()
			return c, nil
		}
		if c.Links, err = s.acked(acks); err != nil {
			return nil, err
		}
		if l.Until = h.now().Add(s.ttl()); q.Done {
			l = l.free()
		}
		return c, nil
	})
	if err != nil {
		return err
	}
	woken := false
	if q.Done || action == "release" {
		if woken, err = h.advance(ctx, sess); err != nil {
			h.advanceSoon(sess.ID()) // the work is done all the same
		}
	}
	if action == "release" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeJSON(w, http.StatusOK, "application/json", map[string]any{"ok": true, "next_wake": woken})
	return nil
}

// An ack says up to which offset a stream is done.
type ack struct {
	path         string
	offset, tail int64
}

// acksOf returns what a worker acknowledges, with the ends of the streams to which the
// subscription of sess is linked.
func (h *Handler) acksOf(ctx context.Context, sess *engine.Session, q *worked) ([]ack, error) {
	if len(q.Acks) > maxLinks {
		return nil, invalid("%d acks, at most %d are allowed", len(q.Acks), maxLinks)
	}
	var out []ack
	for _, a := range q.Acks {
		path := trimPath(a.Stream)
		if path == "" {
			path = trimPath(a.Path)
		}
		at, ok := parseOffset(a.Offset)
		if !ok {
			return nil, refuseAs(codeOffset, http.StatusConflict, "%.64q is not an offset", a.Offset)
		}
		out = append(out, ack{path: path, offset: at})
	}
	linked := make([]bool, len(out))
	err := h.viewSubscription(sess, func(s *subscription) error {
		for i := range out {
			_, linked[i] = s.links[out[i].path]
		}
		return nil
	})
	for i := 0; err == nil && i < len(out); i++ {
		if linked[i] { // the worker learns nothing of other streams
			out[i].tail, _, err = h.tailOf(ctx, out[i].path, h.cfg.Open)
		}
	}
	return out, err
}

// acked returns the links after acks.
func (s *subscription) acked(acks []ack) (map[string]*link, error) {
	out := map[string]*link{}
	for _, a := range acks {
		l, ok := s.links[a.path]
		bad := ""
		switch {
		case !ok:
			bad = "is not a stream of the subscription"
		case a.offset < l.Acked:
			bad = "is acknowledged further already"
		case a.offset > a.tail:
			bad = "ends before that offset"
		}
		if bad != "" {
			return nil, refuseAs(codeOffset, http.StatusConflict, "%.200q %s", a.path, bad)
		}
		l.Acked = a.offset
		out[a.path] = &l
	}
	return out, nil
}

// errNotWoken ends a change that would store nothing.
var errNotWoken = errors.New("there is nothing to do")

// advance gives up a lease that has ended, and wakes a subscription that has pending work.
// It reports whether it did wake it.
func (h *Handler) advance(ctx context.Context, sess *engine.Session) (woken bool, err error) {
	all, gone, unread := h.infos(ctx, sess, h.cfg.Cached)
	woken, err = h.wake(ctx, sess, all, func(*subscription) map[string]*link {
		links := map[string]*link{}
		for _, path := range gone {
			links[path] = nil
		}
		return links
	})
	if err == nil {
		err = unread // streams that are read later may have work
	}
	return woken, err
}

// wake stores links, and a wake if one is due for the streams of all. The webhook is called
// by the node that stored the wake.
func (h *Handler) wake(ctx context.Context, sess *engine.Session, all []info, links func(*subscription) map[string]*link) (bool, error) {
	var next lease
	var base string
	var q wanted
	token := ""
	err := h.change(ctx, sess, func(s *subscription) (*change, error) {
		c := change{Links: links(s)}
		q, base, token, next = s.wanted, s.base, "", lease{}
		l, now := s.lease, h.now()
		ended := l.Wake != "" && !l.Until.IsZero() && !now.Before(l.Until)
		if ended {
			failures := l.Failures
			l = l.free()
			l.Failures = failures
			c.Lease = &l
		}
		if l.Wake == "" && !now.Before(l.NotBefore) && s.isPending(all, c.Links) {
			next = l.next()
			if s.Type == byWebhook {
				token = next.give(now.Add(s.ttl()))
			}
			c.Lease = &next
		}
		if c.Lease == nil && len(c.Links) == 0 {
			return nil, errNotWoken
		}
		return &c, nil
	})
	if errors.Is(err, errNotWoken) {
		return false, nil
	}
	if err != nil || next.Wake == "" {
		return false, err
	}
	if token != "" {
		h.deliverLater(sess, delivery{q.Webhook.URL, base, token, next, all})
	} else {
		h.advanceSoon(sess.ID()) // announces it
	}
	return true, nil
}

// isPending reports whether a stream of all has more than is done, now that links change.
func (s *subscription) isPending(all []info, links map[string]*link) bool {
	return slices.ContainsFunc(all, func(i info) bool {
		l, ok := s.links[i.Path]
		if added := links[i.Path]; added != nil {
			l, ok = *added, true
		}
		return ok && i.tail > l.Acked
	})
}

// maxBackoff is the longest pause after a webhook that failed.
const maxBackoff = 10 * time.Minute

// failed returns the lease after a webhook failed.
func (l lease) failed(now time.Time) lease {
	next := l.free()
	next.Failures = max(1, min(l.Failures+1, 20))
	next.NotBefore = now.Add(min(time.Second<<(next.Failures-1), maxBackoff))
	return next
}
