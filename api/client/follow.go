package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// Follow calls f with the session's records after a cursor as they are stored,
// and reconnects when the stream breaks, until f fails or ctx ends. With wait
// false it ends at the last record.
func (c *Client) Follow(ctx context.Context, id string, after core.Cursor, wait bool, f func(api.Event) error) error {
	for {
		err := c.followOnce(ctx, id, &after, wait, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !wait || err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		if err := retry.Wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *Client) followOnce(ctx context.Context, id string, after *core.Cursor, wait bool, f func(api.Event) error) error {
	q := url.Values{}
	if !wait {
		q.Set("wait", "false")
	}
	h := http.Header{"Accept": {"text/event-stream"}}
	if *after != (core.Cursor{}) {
		h.Set("Last-Event-ID", after.String())
	}
	r, err := c.send(ctx, http.MethodGet, c.session(id, "/events"), q, h, nil, 0)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return readEvents(r.Body, func(ev api.Event) error {
		if err := f(ev); err != nil {
			return err
		}
		*after = ev.Cursor
		return nil
	})
}

// readEvents reads the events of a session.
func readEvents(body io.Reader, f func(api.Event) error) error {
	return readSSE(body, func(kind, _ string, data []byte) error {
		if kind == "problem" {
			return readEventProblem(data)
		}
		if len(data) == 0 {
			return nil
		}
		var ev api.Event
		if err := json.Unmarshal(data, &ev); err != nil {
			return fmt.Errorf("an event that is no JSON: %w", err)
		}
		return f(ev)
	})
}

// readSSE reads server-sent events and calls f with those that have data or an
// id. It returns core.ErrUnavailable if the stream breaks, nil if it ends.
func readSSE(body io.Reader, f func(kind, id string, data []byte) error) error {
	r := bufio.NewReaderSize(body, 64<<10)
	var data, kind, id []byte
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the stream of events broke: %v: %w", err, core.ErrUnavailable)
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case bytes.HasPrefix(line, []byte("event: ")):
			kind = append(kind[:0], line[len("event: "):]...)
		case bytes.HasPrefix(line, []byte("data: ")):
			data = append(data, line[len("data: "):]...)
		case bytes.HasPrefix(line, []byte("id: ")):
			id = append(id[:0], line[len("id: "):]...)
		case len(line) == 0 && len(data)+len(id) > 0:
			if err := f(string(kind), string(id), data); err != nil {
				return err
			}
			data, kind, id = data[:0], kind[:0], id[:0]
		}
	}
}

// readEventProblem reads the error that ends a stream of events.
func readEventProblem(data []byte) error {
	var d api.Detail
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	return &Error{Detail: d}
}
