package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

func TestTokenLimitsReturnRetryAfter(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	n.importText(t, file(header, message("a", "", "1")))
	auth := func(q api.TokenRequest) string {
		m, err := n.CreateToken(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		// Uses another token, because a call with this one would count.
		second, err := n.CreateToken(t.Context(), api.TokenRequest{Name: q.Name + " after", Scope: access.Read})
		if err != nil {
			t.Fatal(err)
		}
		n.awaitStatus(t, second.Bearer, http.StatusOK)
		return "Bearer " + m.Bearer
	}

	// A rate so low that the bucket does not refill during the test.
	slow := auth(api.TokenRequest{Name: "slow", Scope: access.Read, Limits: access.Limits{Rate: 1}})
	var last *http.Response
	var body string
	for range 100 {
		if last, body = n.request(t, "GET", "/v1/sessions/session-one", "", "Authorization", slow); last.StatusCode == http.StatusTooManyRequests {
			break
		}
	}
	if last.StatusCode != http.StatusTooManyRequests || last.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"code":"too-many"`) {
		t.Errorf("beyond the rate: %s, Retry-After %q: %s", last.Status, last.Header.Get("Retry-After"), body)
	}

	small := auth(api.TokenRequest{Name: "small", Scope: access.Write, Limits: access.Limits{Body: 2000}})
	for size, want := range map[int]int{100: http.StatusOK, 3000: http.StatusRequestEntityTooLarge} {
		res, body := n.request(t, "POST", "/v1/sessions/session-one/entries", message("x"+http.StatusText(want)[:2], "a", strings.Repeat("w", size)), "Authorization", small)
		if res.StatusCode != want {
			t.Errorf("a body of %d bytes: %s %s", size, res.Status, body)
		}
	}

	few := &client.Client{Base: n.Base, Token: strings.TrimPrefix(auth(api.TokenRequest{Name: "few", Scope: access.Read, Limits: access.Limits{Followers: 1}}), "Bearer ")}
	ctx, cancel := context.WithCancel(t.Context())
	open := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		first := true
		ended <- few.Follow(ctx, "session-one", core.Cursor{}, true, func(api.Event) error {
			if first {
				close(open)
				first = false
			}
			return nil
		})
	}()
	<-open
	err := few.Follow(t.Context(), "session-one", core.Cursor{}, false, func(api.Event) error { return nil })
	if !errors.Is(err, api.ErrTooMany) {
		t.Errorf("a second stream: %v", err)
	}
	cancel()
	t.Logf("the first stream ended: %v", <-ended)
}

func TestRevokedTokenEndsFollower(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	n.importText(t, file(header, message("a", "", "1")))
	m := n.create(t, api.TokenRequest{Name: "f", Scope: access.Read})
	c := &client.Client{Base: n.Base, Token: m.Bearer}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		first := true
		ended <- c.Follow(ctx, "session-one", core.Cursor{}, true, func(api.Event) error {
			if first {
				close(open)
				first = false
			}
			return nil
		})
	}()
	<-open
	if _, err := n.RevokeToken(t.Context(), m.ID, api.Notice{}); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Detail.Status != http.StatusUnauthorized {
		t.Errorf("the stream ended with %v, want a 401 on reconnect", err)
	}
}
