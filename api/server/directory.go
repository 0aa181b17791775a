package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

// Bounds of a page of hits.
const (
	defaultHits = 50
	maxHits     = 1000
)

func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f, err := s.filterOf(r.Context(), q)
	if err != nil {
		return err
	}
	if f.Limit, err = limitOf(q.Get("limit")); err != nil {
		return err
	}
	f.After = q.Get("after")
	if id, err := core.ParseSessionID(f.After); err == nil { // where it stands tells that it is there
		if err := callerOf(r.Context()).mayUse(id); err != nil {
			return err
		}
	}
	if err := memory.Grow(r.Context(), int64(f.Limit)*rowWork); err != nil {
		return err
	}
	s.catchUp(r.Context())
	page, err := s.cfg.Directory.List(r.Context(), f)
	if err != nil {
		return err
	}
	err = s.shorten(r.Context(), len(page.Rows), func(i int) (core.SessionID, *string) { return page.Rows[i].ID, &page.Rows[i].ShortID })
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.List{Sessions: page.Rows, Next: page.Next, Mark: page.Mark})
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	v := r.URL.Query()
	q := catalog.SearchQuery{Text: v.Get("q"), Before: v.Get("before"), Limit: defaultHits}
	var errs []error
	if id := v.Get("session"); id != "" {
		var err error
		q.Session, err = core.ParseSessionID(id)
		errs = append(errs, err)
	}
	if limit := v.Get("limit"); limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > maxHits {
			errs = append(errs, fmt.Errorf("limit %q: use a number from 1 to %d: %w", limit, maxHits, core.ErrInvalid))
		}
		q.Limit = n
	}
	errs = append(errs, times(v, "from", "to", &q.Time))
	f, err := s.filterOf(r.Context(), v)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	q.Sessions = f
	if err := memory.Grow(r.Context(), int64(q.Limit)*rowWork); err != nil {
		return err
	}
	s.catchUp(r.Context())
	page, err := s.cfg.Directory.Search(r.Context(), q)
	if err != nil {
		return err
	}
	err = s.shorten(r.Context(), len(page.Hits), func(i int) (core.SessionID, *string) { return page.Hits[i].Session, &page.Hits[i].ShortID })
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}

// shorten sets the short ids of the n sessions that at returns. They are unique among
// the sessions that the caller may see.
func (s *Server) shorten(ctx context.Context, n int, at func(i int) (core.SessionID, *string)) error {
	ids := make([]core.SessionID, n)
	for i := range ids {
		ids[i], _ = at(i)
	}
	short, err := s.cfg.Directory.ShortIDs(ctx, callerOf(ctx).Prefix, ids)
	for i, id := range ids {
		_, to := at(i)
		*to = short[id]
	}
	return err
}

// filterOf reads the parameters that listings, searches and feeds share.
func (s *Server) filterOf(ctx context.Context, q url.Values) (catalog.Filter, error) {
	f := catalog.Filter{
		Prefix: q.Get("prefix"), CWD: q.Get("cwd"), Dialect: q.Get("dialect"), Holder: q.Get("holder"),
		Tags: q["tag"], Label: q.Get("label"), Name: q.Get("name"), Text: q.Get("text"), Fuzzy: q.Get("fuzzy"),
		State: catalog.State(q.Get("state")), Deleted: q.Get("deleted") == "true", Below: q.Get("below") == "true",
		Sort: catalog.Sort(q.Get("sort")), Within: callerOf(ctx).Prefix,
	}
	errs := []error{
		times(q, "createdFrom", "createdTo", &f.Created), times(q, "modifiedFrom", "modifiedTo", &f.Modified),
		number(q, "minSize", &f.Size.From, parseInt), number(q, "maxSize", &f.Size.To, parseInt),
		number(q, "minCost", &f.Cost.From, parseFloat), number(q, "maxCost", &f.Cost.To, parseFloat),
	}
	if f.Below && f.CWD == "" {
		errs = append(errs, fmt.Errorf("below asks for cwd, the directory to look below: %w", core.ErrInvalid))
	}
	var err error
	if f.Reverse, err = reverseOf(f.Sort, q.Get("order")); err != nil {
		errs = append(errs, err)
	}
	if f.State == catalog.StateInterrupted {
		if f.Silence, err = s.silence(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return f, errors.Join(errs...)
}

// reverseOf reads an order, "asc" or "desc". The default is ascending for names
// and descending for all else.
func reverseOf(by catalog.Sort, order string) (bool, error) {
	switch order {
	case "":
		return false, nil
	case "asc":
		return by != catalog.SortName, nil
	case "desc":
		return by == catalog.SortName, nil
	}
	return false, fmt.Errorf("order %q: use asc or desc: %w", order, core.ErrInvalid)
}

func times(q url.Values, from, to string, r *catalog.Range[time.Time]) error {
	return errors.Join(number(q, from, &r.From, parseTime), number(q, to, &r.To, parseTime))
}

// number reads a parameter that need not be there.
func number[T any](q url.Values, name string, to **T, parse func(string) (T, error)) error {
	s := q.Get(name)
	if s == "" {
		return nil
	}
	v, err := parse(s)
	if err != nil {
		return fmt.Errorf("%s %q: %v: %w", name, s[:min(len(s), 80)], err, core.ErrInvalid)
	}
	*to = &v
	return nil
}

func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t, err = time.Parse(time.DateOnly, s)
	}
	if err != nil {
		err = errors.New("use a time such as 2026-01-02T03:04:05Z, or a day such as 2026-01-02")
	}
	return t, err
}

func parseInt(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		err = errors.New("use a whole number of bytes")
	}
	return n, err
}

func parseFloat(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n != n {
		return 0, errors.New("use a number")
	}
	return n, nil
}

// silence returns the sessions whose writers are alive. It returns
// core.ErrUnavailable if the node has not listened to writers for long enough.
func (s *Server) silence(ctx context.Context) (*catalog.Silence, error) {
	out := &catalog.Silence{Since: time.Now().Add(-session.SilentAfter)}
	if s.cfg.Presence == nil {
		return out, nil
	}
	if since := s.cfg.Presence.Since(); since.After(out.Since) {
		return nil, fmt.Errorf("which sessions are interrupted is not known yet: this node has listened for their writers for %v, and asks for %v: %w",
			time.Since(since).Round(time.Second), session.SilentAfter, core.ErrUnavailable)
	}
	list, err := s.cfg.Presence.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("which sessions are interrupted is not known: %w", err)
	}
	for _, p := range list {
		if p.Alive {
			out.Alive = append(out.Alive, p.Holds...)
		}
	}
	return out, nil
}

// Bounds of a listing.
const (
	defaultPage = 1000
	maxPage     = 10_000
)

// rowWork is about how many bytes a row, a hit or a prompt of an answer takes until it is
// sent.
const rowWork = 4 << 10

// listTimeout is how long a listing waits for the directory to have all that was
// stored before the request.
const listTimeout = 2 * time.Second

// catchUp waits up to listTimeout for the directory to have all that was stored
// before, and reports whether it does.
func (s *Server) catchUp(ctx context.Context) bool {
	last, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err := s.cfg.Materializer.CatchUp(last)
	if err != nil && ctx.Err() == nil {
		s.cfg.Logger.Debug("listing from a directory that lags", "err", err)
	}
	return err == nil
}

func limitOf(s string) (int, error) {
	if s == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxPage {
		return 0, fmt.Errorf("limit %.64q: use a number from 1 to %d: %w", s, maxPage, core.ErrInvalid)
	}
	return n, nil
}

// Bounds of a page of prompts.
const (
	defaultPrompts = 100
	maxPrompts     = 1000
)

func (s *Server) prompts(w http.ResponseWriter, r *http.Request) error {
	q, err := promptQuery(r.URL.Query())
	if err == nil {
		err = callerOf(r.Context()).mayQuery(q.Session)
	}
	if err != nil {
		return err
	}
	if err := memory.Grow(r.Context(), int64(q.Limit)*rowWork); err != nil {
		return err
	}
	caughtUp := s.catchUp(r.Context())
	page, err := s.cfg.Directory.Prompts(r.Context(), q)
	if err != nil {
		return err
	}
	err = s.shorten(r.Context(), len(page.Prompts), func(i int) (core.SessionID, *string) { return page.Prompts[i].Session, &page.Prompts[i].ShortID })
	if err != nil {
		return err
	}
	if !caughtUp {
		page.Behind = s.cfg.Materializer.Behind(r.Context())
	}
	return answer(w, http.StatusOK, page)
}

func promptQuery(v url.Values) (q catalog.PromptQuery, err error) {
	q = catalog.PromptQuery{Text: v.Get("q"), CWD: v.Get("cwd"), Dialect: v.Get("dialect"), Before: v.Get("before"), Limit: defaultPrompts}
	var errs []error
	if id := v.Get("session"); id != "" {
		q.Session, err = core.ParseSessionID(id)
		errs = append(errs, err)
	}
	if limit := v.Get("limit"); limit != "" {
		q.Limit, err = strconv.Atoi(limit)
		if err != nil || q.Limit < 1 || q.Limit > maxPrompts {
			errs = append(errs, fmt.Errorf("limit %.64q: use a number from 1 to %d: %w", limit, maxPrompts, core.ErrInvalid))
		}
	}
	return q, errors.Join(errs...)
}
