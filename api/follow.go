package api

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

	"github.com/sesslog/sesslog/core"
)

// Follow calls f with the session's records behind after as they are stored,
// reconnecting when the stream breaks, until f or ctx ends it. With wait false
// it ends at the last record there is.
func (c *Client) Follow(ctx context.Context, id string, after core.Cursor, wait bool, f func(Event) error) error {
	for {
		err := c.followOnce(ctx, id, &after, wait, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !wait || err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *Client) followOnce(ctx context.Context, id string, after *core.Cursor, wait bool, f func(Event) error) error {
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
	return readEvents(r.Body, func(ev Event) error {
		if err := f(ev); err != nil {
			return err
		}
		*after = ev.Cursor
		return nil
	})
}

// readEvents reads server-sent events. A stream that breaks is
// core.ErrUnavailable, one that ends is no error.
func readEvents(body io.Reader, f func(Event) error) error {
	r := bufio.NewReaderSize(body, 64<<10)
	var data, kind []byte
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
		case len(line) == 0 && len(data) > 0:
			if err := handleEvent(string(kind), data, f); err != nil {
				return err
			}
			data, kind = data[:0], kind[:0]
		}
	}
}

func handleEvent(kind string, data []byte, f func(Event) error) error {
	if kind == "problem" {
		var d Detail
		if err := json.Unmarshal(data, &d); err != nil {
			return err
		}
		return &Error{Detail: d}
	}
	var ev Event
	if err := json.Unmarshal(data, &ev); err != nil {
		return fmt.Errorf("an event that is no JSON: %w", err)
	}
	return f(ev)
}
