package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/materializer"
)

// PromptPage is an answer of GET /v1/prompts, newest first.
type PromptPage = materializer.PromptPage

// Prompts returns a page of the prompts that people gave, newest first.
func (c *Client) Prompts(ctx context.Context, q api.PromptQuery) (PromptPage, error) {
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
