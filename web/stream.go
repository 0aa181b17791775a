package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/inside"
	"github.com/sesslog/sesslog/internal/memory"
)

// pingEvery is the interval of keep-alive comments. A failed write ends the stream of a
// browser that is gone.
const pingEvery = 15 * time.Second

// stream answers with server-sent events until follow returns. The client of follow
// accepts one stream of events from the API. The answer ends when that stream ends, because
// the node stops or the token was revoked; the browser then reconnects. If the position
// of the page no longer exists, the page is told to reload.
func (p *page) stream(w http.ResponseWriter, r *http.Request, follow func(ctx context.Context, c *client.Client, send func(kind, id, data string) error) error) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	lease := p.memory.Lease()
	defer lease.Release()
	ctx = memory.With(ctx, lease)
	rc := http.NewResponseController(w)
	var mu sync.Mutex
	write := func(text string) error {
		mu.Lock()
		defer mu.Unlock()
		extend(w)
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
		return rc.Flush()
	}
	var pings sync.WaitGroup
	defer pings.Wait()
	defer cancel()
	begun := false
	begin := sync.OnceFunc(func() {
		begun = true
		w.Header().Set("Content-Type", "text/event-stream")
		pings.Go(func() {
			for write(": \n\n") == nil {
				select {
				case <-ctx.Done():
					return
				case <-time.After(pingEvery):
				}
			}
			cancel()
		})
	})
	c := p.client(r)
	c.HTTP = &http.Client{Transport: &followOnce{inside.Transport{API: p.api, Of: r.WithContext(ctx)}, cancel, false, begin}}
	send := func(kind, id, data string) error {
		defer lease.Release() // of what the event was made of
		begin()
		event := "event: " + kind + "\n"
		if id != "" {
			event += "id: " + id + "\n"
		}
		return write(event + "data: " + strings.ReplaceAll(strings.ReplaceAll(data, "\r", ""), "\n", "\ndata: ") + "\n\n")
	}
	err := follow(ctx, c, send)
	if errors.Is(err, core.ErrLost) {
		err = send("reload", "", "")
	}
	if begun || r.Context().Err() != nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the events cannot be read now: %w", core.ErrUnavailable)
	}
	return err
}

// lastID returns the id of the last event that a page got, or of what it shows.
func lastID(r *http.Request) string { return cmp.Or(r.Header.Get("Last-Event-ID"), r.FormValue("at")) }

// A followOnce is a transport that accepts one stream of events. The client's next request
// for events, which is its try to reconnect, ends the page's stream. Other requests pass.
type followOnce struct {
	inside.Transport
	end   context.CancelFunc
	begun bool
	start func() // is called when the events begin
}

// RoundTrip implements http.RoundTripper.
func (f *followOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return f.Transport.RoundTrip(r)
	}
	if f.begun {
		f.end()
		return nil, fmt.Errorf("the stream ended: %w", context.Canceled)
	}
	answer, err := f.Transport.RoundTrip(r)
	f.begun = err != nil || answer.StatusCode != http.StatusGone // then there may be a second position
	if err == nil && answer.StatusCode == http.StatusOK {
		f.start()
	}
	return answer, err
}
