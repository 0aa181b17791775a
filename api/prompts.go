package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// Bounds of a page of prompts.
const (
	defaultPrompts = 100
	maxPrompts     = 1000
)

// Prompt is one of the prompts that people gave.
type Prompt = materializer.Prompt

// PromptQuery says which prompts are wanted.
type PromptQuery = materializer.PromptQuery

// PromptPage is an answer of GET /v1/prompts, newest first.
type PromptPage = materializer.PromptPage

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

func promptQuery(v url.Values) (q PromptQuery, err error) {
	q = PromptQuery{Text: v.Get("q"), CWD: v.Get("cwd"), Dialect: v.Get("dialect"), Before: v.Get("before"), Limit: defaultPrompts}
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

// Prompts returns a page of the prompts that people gave, newest first.
func (c *Client) Prompts(ctx context.Context, q PromptQuery) (PromptPage, error) {
	v := url.Values{}
	setIf(v, "q", q.Text)
	setIf(v, "cwd", q.CWD)
	setIf(v, "session", string(q.Session))
	setIf(v, "dialect", q.Dialect)
	setIf(v, "before", q.Before)
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[PromptPage](ctx, c, "/v1/prompts", v)
}
