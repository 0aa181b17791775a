package durablestreams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
)

// control answers a request for a path that the protocol reserves.
func (h *Handler) control(w http.ResponseWriter, r *http.Request, path string) error {
	rest, ok := strings.CutPrefix(path, subscriptions)
	id, action, _ := strings.Cut(rest, "/")
	switch {
	case path == "__ds/jwks.json" && r.Method == http.MethodGet:
		h.keys(w)
		return nil
	case !ok || checkPath("/"+id) != nil || id == "" || len(id) > maxHeader:
		return errNoSubscription()
	}
	sub := subscriptions + id
	removed, isRemoval := strings.CutPrefix(action, "streams/")
	switch {
	case action == "" && r.Method == http.MethodPut:
		return h.subscribe(w, r, id)
	case action == "" && r.Method == http.MethodGet:
		return h.showSubscription(w, r, id)
	case action == "" && r.Method == http.MethodDelete:
		return h.delete(w, r, sub)
	case action == "streams" && r.Method == http.MethodPost:
		return h.link(w, r, sub)
	case isRemoval && r.Method == http.MethodDelete:
		return h.unlink(w, r, sub, trimPath(removed))
	case action == "claim" && r.Method == http.MethodPost:
		return h.claim(w, r, sub)
	}
	return invalid("%s is not a request for a subscription", r.Method)
}

// ServeWorker answers a call of a worker, which shows the token of its lease instead of one
// of the node: a callback, an ack or a release.
func (h *Handler) ServeWorker(w http.ResponseWriter, r *http.Request, id, action string) {
	h.setCommon(w)
	ctx, cancel := detached(r.Context())
	defer cancel()
	var err error
	select {
	case h.working <- struct{}{}:
		err = asControl(h.work(w, r.WithContext(ctx), subscriptions+id, action))
		<-h.working
	case <-ctx.Done():
		return
	}
	if err != nil && !isRefused(err) {
		h.cfg.Logger.Warn("a call of a worker failed", "err", err)
		err = refuseAs(codeInternal, http.StatusServiceUnavailable, "the call failed; retry it").with("Retry-After", "1")
	}
	_ = answered(w, err)
}

// ServeKeys answers with the keys by which receivers check webhooks.
func (h *Handler) ServeKeys(w http.ResponseWriter) {
	h.setCommon(w)
	h.keys(w)
}

// asControl returns a refusal as the protocol has it for subscriptions, and other errors.
func asControl(err error) error {
	e, ok := errors.AsType[*refusal](err)
	switch {
	case !ok || e.code != "":
		return err
	case e.status == http.StatusNotFound:
		return errNoSubscription()
	}
	return refuseAs(codeInvalid, e.status, "%s", e.text)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	b, _ := json.Marshal(v) // it cannot fail for the types of this package
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(b) // the reader may have left
}

func (h *Handler) subscribe(w http.ResponseWriter, r *http.Request, id string) error {
	body, release, err := h.cfg.Body(r)
	if err != nil {
		return err
	}
	defer release()
	q, err := readWanted(body)
	if err != nil {
		return err
	}
	if err := h.checkRights(r.Context(), &q); err != nil {
		return err
	}
	if q.Webhook != nil {
		if err := h.cfg.Webhooks.check(q.Webhook.URL); err != nil {
			return err
		}
	}
	sub := subscriptions + id
	for try := 1; ; try++ {
		f, err := h.find(r.Context(), sub, h.cfg.Open)
		if err != nil {
			return err
		}
		if f.sess != nil {
			return h.confirm(w, f.sess, id, &q)
		}
		if f.gone {
			return refuseAs(codeExists, http.StatusConflict, "the session of the subscription is in the trash: erase or restore it")
		}
		sess, err := h.makeSubscription(r, sub, f.generation, &q)
		if errors.Is(err, core.ErrExists) && try < maxTries { // another request made it
			continue
		}
		if err != nil {
			return err
		}
		h.advanceSoon(sess.ID())
		return h.answerSubscription(w, sess, id, http.StatusCreated)
	}
}

// checkRights returns an error unless the caller may use the streams of a subscription.
func (h *Handler) checkRights(ctx context.Context, q *wanted) error {
	if q.Pattern != "" { // any stream may come to match
		if err := h.cfg.MayUse(ctx, IDPrefix); err != nil {
			return err
		}
	}
	for _, path := range append(q.Streams, q.WakeStream) {
		if path == "" {
			continue
		}
		if err := h.cfg.MayUse(ctx, SessionID(path, 1)); err != nil {
			return err
		}
	}
	return nil
}

func (h *Handler) makeSubscription(r *http.Request, path string, generation int, q *wanted) (*engine.Session, error) {
	links, err := h.linksOf(r.Context(), q.Streams)
	if err != nil {
		return nil, err
	}
	c := change{Created: q, Base: strings.TrimSuffix(urlOf(r, ""), Prefix), Links: links}
	b, _ := json.Marshal(c)
	return h.make(r.Context(), &createRequest{path: path, contentType: bytestream.ContentJSON, body: b}, generation)
}

// linksOf returns streams that begin at their current ends.
func (h *Handler) linksOf(ctx context.Context, paths []string) (map[string]*link, error) {
	links := map[string]*link{}
	for _, path := range paths {
		tail, _, err := h.tailOf(ctx, path, h.cfg.Open)
		if err != nil {
			return nil, err
		}
		links[path] = &link{Explicit: true, Acked: tail}
	}
	return links, nil
}

// tailOf returns where a stream ends; 0 if there is none.
func (h *Handler) tailOf(ctx context.Context, path string, open func(context.Context, core.SessionID) (*engine.Session, error)) (tail int64, ok bool, err error) {
	f, err := h.find(ctx, path, open)
	if err != nil || f.sess == nil {
		return 0, false, err
	}
	err = h.view(f.sess, func(_ *core.State, s *stream) error {
		tail = s.state.Tail
		return nil
	})
	return tail, err == nil, err
}

// confirm answers a request for a subscription that exists.
func (h *Handler) confirm(w http.ResponseWriter, sess *engine.Session, id string, q *wanted) error {
	same := false
	err := h.viewSubscription(sess, func(s *subscription) error {
		same = s.equals(q)
		return nil
	})
	if err != nil {
		return err
	}
	if !same {
		return refuseAs(codeExists, http.StatusConflict, "the subscription exists with another configuration")
	}
	return h.answerSubscription(w, sess, id, http.StatusOK)
}

func (h *Handler) viewSubscription(sess *engine.Session, f func(*subscription) error) error {
	return h.view(sess, func(_ *core.State, s *stream) error {
		if s.sub.created.IsZero() {
			return fmt.Errorf("session %s is not a subscription: %w", sess.ID(), core.ErrInvalid)
		}
		return f(&s.sub)
	})
}

func (h *Handler) answerSubscription(w http.ResponseWriter, sess *engine.Session, id string, status int) error {
	var out shown
	err := h.viewSubscription(sess, func(s *subscription) error {
		out = s.shown(id, h.key)
		return nil
	})
	if err == nil {
		w.Header().Set("Cache-Control", "no-store")
		writeJSON(w, status, "application/json", out)
	}
	return err
}

// subscription returns the session of a subscription.
func (h *Handler) subscription(ctx context.Context, path string) (*engine.Session, error) {
	f, err := h.find(ctx, path, h.cfg.Open)
	if err == nil && f.sess == nil {
		err = errNoSubscription()
	}
	return f.sess, err
}

func (h *Handler) showSubscription(w http.ResponseWriter, r *http.Request, id string) error {
	sess, err := h.subscription(r.Context(), subscriptions+id)
	if err != nil {
		return err
	}
	return h.answerSubscription(w, sess, id, http.StatusOK)
}

// link adds streams to a subscription.
func (h *Handler) link(w http.ResponseWriter, r *http.Request, path string) error {
	body, release, err := h.cfg.Body(r)
	if err != nil {
		return err
	}
	defer release()
	var q wanted
	if err := readObject(body, &q); err != nil {
		return err
	}
	if q.Streams, err = trimPaths(q.Streams); err != nil {
		return err
	}
	if len(q.Streams) == 0 {
		return invalid("streams is an array of one path or more")
	}
	if err := h.checkRights(r.Context(), &wanted{Streams: q.Streams}); err != nil {
		return err
	}
	sess, err := h.subscription(r.Context(), path)
	if err != nil {
		return err
	}
	added, err := h.linksOf(r.Context(), q.Streams)
	if err != nil {
		return err
	}
	err = h.change(r.Context(), sess, func(s *subscription) (*change, error) {
		n := len(s.links)
		for path, l := range added {
			if had, ok := s.links[path]; ok {
				l.Acked = had.Acked
			} else {
				n++
			}
		}
		if n > maxLinks {
			return nil, invalid("a subscription has at most %d streams", maxLinks)
		}
		return &change{Links: added}, nil
	})
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// unlink removes a stream that was named. If it matches the pattern, it stays.
func (h *Handler) unlink(w http.ResponseWriter, r *http.Request, path, removed string) error {
	sess, err := h.subscription(r.Context(), path)
	if err != nil {
		return err
	}
	err = h.change(r.Context(), sess, func(s *subscription) (*change, error) {
		l, ok := s.links[removed]
		switch {
		case !ok || !l.Explicit:
			return nil, nil
		case s.matches(removed):
			return &change{Links: map[string]*link{removed: {Acked: l.Acked}}}, nil
		}
		return &change{Links: map[string]*link{removed: nil}}, nil
	})
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// change stores the change that f returns for a subscription, nil for none. f is called
// again if another record came first.
func (h *Handler) change(ctx context.Context, sess *engine.Session, f func(*subscription) (*change, error)) error {
	return h.noteAgain(ctx, sess, func(st *core.State, s *stream) (*bytestream.Line, error) {
		if s.state.Deleted || st.Deleted != nil || s.sub.created.IsZero() {
			return nil, errNoSubscription()
		}
		c, err := f(&s.sub)
		if err != nil || c == nil {
			return nil, err
		}
		return c.line(), nil
	})
}
