package agents

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/nodetest"
	"github.com/sesslog/sesslog/core"
)

func TestClaimHoldEndsWhenFenced(t *testing.T) {
	t.Parallel()
	f, home := nodetest.New(t), t.TempDir()
	const testID = "01aaaaaaaaaaaaaaaaaaaaaaaa"
	held := func(writer string) core.Claim { return core.Claim{Writer: writer, Agent: "pi", Host: "a-host"} }
	w0 := held("w0")
	told, tellOnce := make(chan struct{}), sync.Once{}
	var left atomic.Bool
	f.Mux.HandleFunc("PUT /v1/presence/{id}", func(w http.ResponseWriter, _ *http.Request) {
		tellOnce.Do(func() { close(told) })
		w.WriteHeader(http.StatusNoContent)
	})
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/heads", func(w http.ResponseWriter, _ *http.Request) {
		<-told // taken over after the announcement
		_ = json.NewEncoder(w).Encode(api.Heads{Session: testID, Heads: []api.HeadInfo{{Head: "main", Claim: &w0}}})
	})
	f.Mux.HandleFunc("DELETE /v1/presence/{id}", func(w http.ResponseWriter, _ *http.Request) { left.Store(true); w.WriteHeader(http.StatusNoContent) })
	a := app{cli.New(func(k string) string { return map[string]string{"HOME": home}[k] }, strings.NewReader(""), io.Discard, io.Discard)}
	node := &client.Client{Base: f.URL}
	err := a.hold(t.Context(), node, testID, api.Claimed{Claim: held("w1"), Head: "main"})
	if holder := agent.HolderOf(err); holder == nil || holder.Writer != "w0" {
		t.Errorf("hold returned %v, want that w0 holds the head", err)
	}
	if !left.Load() {
		t.Error("the presence was not removed")
	}
}
