package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
)

func TestValidRequestIDIsKept(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for sent, keeps := range map[string]bool{
		"abc-1.2_Z": true, "": false, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, `a"b`: false, "a b": false, "é": false,
	} {
		res, _ := n.request(t, "GET", "/v1/status", "", server.HeaderRequest, sent)
		got := res.Header.Get(server.HeaderRequest)
		if got == "" || (got == sent) != keeps {
			t.Errorf("sent %q, answered %q", sent, got)
		}
	}
	if res, _ := n.request(t, "GET", "/v1/nothing", ""); res.Header.Get(server.HeaderRequest) == "" {
		t.Error("the answer for an unknown path has no request id")
	}
}

// The log names a request and its session, but not its content.
func TestLogNamesRequestAndSession(t *testing.T) {
	t.Parallel()
	var out lockedBuffer
	n := startNode(t, func(c *server.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Token = "hush-hush"
	})
	made, err := n.Create(t.Context(), api.Create{CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	line := `{"type":"message","message":{"role":"user","content":"for nobody else"}}`
	n.request(t, http.MethodPost, "/v1/sessions/"+string(made.ID)+"/entries", line,
		server.HeaderRequest, "request-of-mine", "Authorization", "Bearer hush-hush")
	n.Stop() // after this all requests are logged
	found := false
	for text := range strings.Lines(out.String()) {
		var rec struct {
			Msg, Request, Method, Path string
			Session                    core.SessionID
			Status                     int
		}
		if err := json.Unmarshal([]byte(text), &rec); err != nil {
			t.Fatal(err)
		}
		if rec.Msg == "request" && rec.Request == "request-of-mine" {
			found = rec.Session == made.ID && rec.Method == http.MethodPost && rec.Status == http.StatusOK
		}
	}
	if !found {
		t.Errorf("no line names request and session in\n%s", out.String())
	}
	for _, secret := range []string{"hush-hush", "for nobody else"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// A lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
