package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// Bounds of a page of prompts.
const (
	defaultPrompts = 100
	maxPrompts     = 1000
)

func (s *Server) prompts(w http.ResponseWriter, r *http.Request) error {
	q, err := promptQuery(r.URL.Query())
	if err == nil {
		err = callerOf(r.Context()).asksWithin(q.Session)
	}
	if err != nil {
		return err
	}
	caughtUp := s.catchUp(r.Context())
	page, err := s.cfg.Directory.Prompts(r.Context(), q)
	if err != nil {
		return err
	}
	if !caughtUp {
		page.Behind = s.cfg.Materializer.Behind(r.Context())
	}
	return answer(w, http.StatusOK, page)
}

func promptQuery(v url.Values) (q api.PromptQuery, err error) {
	q = api.PromptQuery{Text: v.Get("q"), CWD: v.Get("cwd"), Dialect: v.Get("dialect"), Before: v.Get("before"), Limit: defaultPrompts}
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
