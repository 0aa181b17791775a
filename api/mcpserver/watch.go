package mcpserver

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// scheme begins the URI of each session.
const scheme = "session://"

// maxWatched is how many sessions may be subscribed to at once.
const maxWatched = 64

// watchers follow the sessions that are subscribed to.
type watchers struct {
	ctx     context.Context //nolint:containedctx // the server's, which subscriptions outlive requests by
	log     Log
	updated func(context.Context, *mcp.ResourceUpdatedNotificationParams) error

	mu   sync.Mutex
	stop map[string]context.CancelFunc // by URI
}

func (w *watchers) subscribe(_ context.Context, r *mcp.SubscribeRequest) error {
	uri := r.Params.URI
	id, ok := sessionOf(uri)
	if !ok {
		return mcp.ResourceNotFoundError(uri)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stop[uri] != nil:
		return nil
	case len(w.stop) >= maxWatched:
		return fmt.Errorf("%d sessions are subscribed to, which is the limit", maxWatched)
	}
	ctx, stop := context.WithCancel(w.ctx)
	w.stop[uri] = stop
	go w.follow(ctx, id, uri)
	return nil
}

func (w *watchers) unsubscribe(_ context.Context, r *mcp.UnsubscribeRequest) error {
	w.end(r.Params.URI)
	return nil
}

// follow tells the subscribers of each record after those that are there.
func (w *watchers) follow(ctx context.Context, id, uri string) {
	defer w.end(uri)
	last, err := w.log.ReadWindow(ctx, id, client.View{}, -1, 1, func([]byte) error { return nil })
	if err != nil {
		return
	}
	_ = w.log.Follow(ctx, id, last.Cursor, true, func(api.Event) error {
		return w.updated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	})
}

func (w *watchers) end(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stop := w.stop[uri]; stop != nil {
		stop()
		delete(w.stop, uri)
	}
}

// sessionOf returns the id in a session's URI.
func sessionOf(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	if !ok {
		return "", false
	}
	text, err := url.PathUnescape(rest)
	if err != nil {
		return "", false
	}
	id, err := core.ParseSessionID(text)
	return string(id), err == nil
}
