package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// Changes calls f with each row that changes after a mark, reconnecting when the
// stream breaks, until f or ctx ends it. An empty mark means now. core.ErrLost
// where the node does not know the mark, as after it made its directory again,
// or because it is another node: list anew and go on from the new mark.
func (c *Client) Changes(ctx context.Context, o ListOptions, after api.Mark, f func(api.RowChange) error) error {
	for {
		err := c.changesOnce(ctx, o, &after, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		if err := retry.Wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *Client) changesOnce(ctx context.Context, o ListOptions, after *api.Mark, f func(api.RowChange) error) error {
	o.After, o.Limit = "", 0
	q := listQuery(o)
	setIf(q, "after", string(*after))
	r, err := c.send(ctx, http.MethodGet, "/v1/sessions/changes", q, http.Header{"Accept": {"text/event-stream"}}, nil, 0)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return readSSE(r.Body, func(kind, id string, data []byte) error {
		if id != "" && len(data) == 0 {
			*after = api.Mark(id) // where an empty mark was
			return nil
		}
		if kind == "problem" {
			return readEventProblem(data)
		}
		var ch api.RowChange
		if err := json.Unmarshal(data, &ch); err != nil {
			return fmt.Errorf("a change that is no JSON: %w", err)
		}
		if err := f(ch); err != nil {
			return err
		}
		*after = ch.Mark
		return nil
	})
}
