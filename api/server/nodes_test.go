package server_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// nowhere returns a URL that accepts no connections.
func nowhere(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "http://" + ln.Addr().String()
}

// A client of several nodes works while one of them is reachable, and then prefers
// the node that answered.
func TestClientFailsOverToNextNode(t *testing.T) {
	t.Parallel()
	var stored, dying, full atomic.Int32
	well := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); string(b) != "{}" {
			t.Errorf("the node received %q", b)
		}
		stored.Add(1)
		_, _ = io.WriteString(w, `{"ids":["a"],"stored":1,"seq":"7-0000000000000000"}`)
	}))
	dies := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		dying.Add(1)
		panic(http.ErrAbortHandler)
	}))
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		full.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"unavailable","detail":"no quorum"}`)
	}))
	for _, s := range []*httptest.Server{well, dies, busy} {
		t.Cleanup(s.Close)
	}
	c := client.ClientOf([]string{nowhere(t), busy.URL, dies.URL, well.URL}, "")
	for i := range int32(3) {
		out, err := c.Append(t.Context(), "session-one", []byte("{}"), client.AppendOptions{Key: "k"})
		if err != nil || out.Stored != 1 || stored.Load() != i+1 {
			t.Fatalf("append %d: %+v %v, %d arrived", i, out, err, stored.Load())
		}
	}
	if dying.Load() != 1 || full.Load() != 1 {
		t.Errorf("a node that dies was asked %d times, a busy one %d times", dying.Load(), full.Load())
	}

	// If no node answers, the error says so. A refused request is not sent to another node.
	none := client.ClientOf([]string{nowhere(t), nowhere(t)}, "")
	if _, err := none.Append(t.Context(), "session-one", []byte("{}"), client.AppendOptions{}); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("without a reachable node: %v", err)
	}
	// The answer of a node is reported rather than that the others cannot be reached.
	var said *client.Error
	half := client.ClientOf([]string{busy.URL, nowhere(t), nowhere(t)}, "")
	if _, err := half.Append(t.Context(), "session-one", []byte("{}"), client.AppendOptions{}); !errors.As(err, &said) || said.Detail.Detail != "no quorum" {
		t.Errorf("with one node that cannot serve: %v", err)
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"fenced","detail":"held"}`)
	}))
	t.Cleanup(refuses.Close)
	before := stored.Load()
	if _, err := client.ClientOf([]string{refuses.URL, well.URL}, "").Append(t.Context(), "session-one", []byte("{}"), client.AppendOptions{}); !errors.Is(err, core.ErrFenced) || stored.Load() != before {
		t.Errorf("a refused request was sent to another node: %v", err)
	}
	// Without an idempotency key a request is not sent twice.
	if _, err := client.ClientOf([]string{dies.URL, well.URL}, "").Append(t.Context(), "session-one", []byte("{}"), client.AppendOptions{}); !errors.Is(err, core.ErrUncertain) || stored.Load() != before {
		t.Errorf("a request that may have been stored was sent again: %v", err)
	}
}
