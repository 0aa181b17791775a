package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/inside"
	"github.com/sesslog/sesslog/internal/memory"
)

// pingEvery is the time between comments in a stream, which show that the browser is
// still there.
const pingEvery = 15 * time.Second

// stream answers with server-sent events until follow returns. follow has a client
// that may follow once: when that ends, because the node stops or the token was
// revoked, the stream ends, and the browser asks again.
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
	begun := false
	once := &followOnce{inside.Transport{API: p.api, Of: r.WithContext(ctx)}, cancel, false, func() error {
		begun = true
		w.Header().Set("Content-Type", "text/event-stream")
		return write("retry: 1000\n\n")
	}}
	c := p.client(r)
	c.HTTP = &http.Client{Transport: once}
	var pings sync.WaitGroup
	defer pings.Wait()
	defer cancel()
	pings.Go(func() {
		tick := time.NewTicker(pingEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if write(": \n\n") != nil {
					cancel()
				}
			}
		}
	})
	err := follow(ctx, c, func(kind, id, data string) error {
		defer lease.Release() // of what the event was made of
		event := "event: " + kind + "\n"
		if id != "" {
			event += "id: " + id + "\n"
		}
		return write(event + "data: " + strings.ReplaceAll(strings.ReplaceAll(data, "\r", ""), "\n", "\ndata: ") + "\n\n")
	})
	if begun || ctx.Err() != nil {
		return nil
	}
	return err
}

// followOnce sends one request for events, and ends what follows with the second one.
// Other requests it sends as they are.
type followOnce struct {
	inside.Transport
	end   context.CancelFunc
	begun bool
	start func() error // is called when the events begin
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
	f.begun = true
	answer, err := f.Transport.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusOK {
		err = f.start()
	}
	return answer, err
}
