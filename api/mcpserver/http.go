package mcpserver

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/inside"
	"github.com/sesslog/sesslog/internal/limiter"
	"github.com/sesslog/sesslog/internal/memory"
)

// Path is where a node serves MCP.
const Path = "/mcp"

const (
	maxRequest  = 64 << 10
	requestTime = 30 * time.Second // for a request to arrive
	answerTime  = time.Minute      // for the caller to accept an answer
	maxCalls    = 16               // that are answered at the same time
	callTime    = 10 * time.Second // for a call to wait for that
)

// Handler returns a handler that serves MCP at Path by streamable HTTP, and passes other
// requests to api, the handler of the HTTP API. Each request reads by calls of api with
// the rights of its caller. The server keeps no sessions, so any node answers any
// request, and resources cannot be subscribed to. What a request reads counts against b.
func Handler(api http.Handler, version string, b *memory.Budget) http.Handler {
	schemas := mcp.NewSchemaCache()
	served := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		return serving(callerOf(api, r), version, &mcp.ServerOptions{SchemaCache: schemas})
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxRequest,
		DisableLocalhostProtection: true, // the API checks the host, and works behind proxies
	})
	calls := limiter.New("calls of MCP", maxCalls, 0, callTime)
	guard := http.NewCrossOriginProtection()
	at := guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !mayCall(w, api, r) {
			return
		}
		r, err := arrived(w, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		release, err := calls.Acquire(r.Context(), callerName(r), false)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		lease := b.Lease()
		defer lease.Release()
		out := &answer{ResponseWriter: w}
		func() {
			defer release()
			served.ServeHTTP(out, r.WithContext(memory.With(r.Context(), lease)))
		}()
		lease.Resize(int64(out.body.Len()))
		out.send()
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == Path {
			at.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// callerName identifies the sender of a request, whose share of the limits is counted, by
// its token or else its address.
func callerName(r *http.Request) string {
	if token, ok := access.BearerOf(r.Header.Get("Authorization")); ok {
		return token
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// callerOf returns a client of api with the rights of a request.
func callerOf(api http.Handler, r *http.Request) *client.Client {
	c := &client.Client{Base: "http://localhost", HTTP: &http.Client{Transport: inside.Transport{API: api, Of: r}}}
	if token, ok := access.BearerOf(r.Header.Get("Authorization")); ok {
		c.Token = token
	}
	return c
}

// mayCall reports whether api accepts the caller of r. If not, it answers r as api does.
func mayCall(w http.ResponseWriter, api http.Handler, r *http.Request) bool {
	ask, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://localhost/v1/whoami", nil)
	if err != nil {
		return false
	}
	ask.Header.Set("Authorization", r.Header.Get("Authorization"))
	res, err := inside.Transport{API: api, Of: r}.RoundTrip(ask)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
		return false
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		_, _ = io.Copy(io.Discard, res.Body) // the answer is complete only then
		return true
	}
	for _, name := range []string{"Content-Type", "Retry-After", "Www-Authenticate"} {
		if v := res.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body) // the caller may have left
	return false
}
