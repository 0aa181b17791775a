package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// shareOf creates a share link and waits until the node accepts it.
func (n *node) shareOf(t *testing.T, id, until string) access.Issued {
	t.Helper()
	m, err := n.Share(t.Context(), id, api.ShareRequest{Until: until, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	n.awaitShared(t, m.Bearer, http.StatusOK)
	return m
}

// awaitShared waits until the node answers the bearer of a share link with that status.
func (n *node) awaitShared(t *testing.T, bearer string, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		res, body := n.request(t, "GET", "/v1/shared", "", "Authorization", "Bearer "+bearer)
		if res.StatusCode == want {
			return
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the share link still answers %d %s, want %d", res.StatusCode, body, want)
		}
	}
}

// branched makes a session with the path e1 e2 e3 to main, and e4 beside e3.
func (n *node) branched(t *testing.T, id string) {
	t.Helper()
	if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]string{{"e1", ""}, {"e2", "e1"}, {"e4", "e2"}, {"e3", "e2"}} {
		if _, err := n.Append(t.Context(), id, []byte(message(e[0], e[1], "text of "+e[0])), client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestShareLinkShowsItsPathOnly(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	n.branched(t, "ours-000001")
	n.branched(t, "ours-0000012") // begins with the id of the first
	for until, shown := range map[string][]string{"": {"e1", "e2", "e3"}, "e2": {"e1", "e2"}, "e4": {"e1", "e2", "e4"}} {
		bearer := n.shareOf(t, "ours-000001", until).Bearer
		c := &client.Client{Base: n.Base, Token: bearer}
		s, err := c.Shared(t.Context())
		if err != nil || s.Session != "ours-000001" || s.Until != until || s.Messages != len(shown) {
			t.Errorf("until %q: %+v, %v", until, s, err)
		}
		var all string
		w, err := c.ReadWindow(t.Context(), "", client.View{}, 0, 100, func(line []byte) error { all += string(line); return nil })
		for _, id := range []string{"e1", "e2", "e3", "e4"} {
			want := slices.Contains(shown, id)
			if strings.Contains(all, "text of "+id) != want || err != nil || w.Total != len(shown) {
				t.Errorf("until %q: %s is shown: %v; %d entries, %v", until, id, !want, w.Total, err)
			}
			if line, err := c.EntryLine(t.Context(), "", id); (err == nil) != want || !want && !errors.Is(err, core.ErrNotFound) {
				t.Errorf("until %q: entry %s: %s, %v", until, id, line, err)
			}
		}
		for _, path := range []string{
			"/v1/shared/entries?head=main", "/v1/shared/entries?at=1", "/v1/shared/entries?custom=x", "/v1/shared/entries?path=false",
			"/v1/shared/events?wait=false", "/v1/shared?id=ours-0000012",
			"/v1/sessions/ours-000001", "/v1/sessions/ours-0000012/entries", "/v1/sessions?prefix=ours-000001", "/v1/search?q=text&session=ours-000001", "/v1/shares", "/v1/whoami",
		} {
			if res, body := n.request(t, "GET", path, "", "Authorization", "Bearer "+bearer); res.StatusCode < 300 || strings.Contains(body, "text of") {
				t.Errorf("until %q: %s: %d %s", until, path, res.StatusCode, body)
			}
		}
	}
}

// A share link follows main, and tells of nothing else. Revoking it ends its stream.
func TestShareLinkEndsWhenItIsRevoked(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	n.branched(t, "ours-000001")
	n.branched(t, "ours-000002")
	m := n.shareOf(t, "ours-000001", "")
	c := &client.Client{Base: n.Base, Token: m.Bearer}
	w, err := c.ReadWindow(t.Context(), "", client.View{}, 0, 1, func([]byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan api.Event, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Follow(t.Context(), "", w.Cursor, true, func(ev api.Event) error { heard <- ev; return nil })
	}()
	if _, err := n.Append(t.Context(), "ours-000001", []byte(message("e5", "e4", "beside")), client.AppendOptions{Head: "other"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Append(t.Context(), "ours-000001", []byte(message("e6", "e3", "on main")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if ev := <-heard; ev.Kind != core.KindAppend || len(ev.Entries)+len(ev.Body) > 0 || ev.Writer != "" {
		t.Errorf("received %+v", ev)
	}
	if _, err := n.Unshare(t.Context(), "ours-000002", m.ID, api.Notice{}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("revoked as a link of another session: %v", err)
	}
	if _, err := n.Unshare(t.Context(), "ours-000001", m.ID, api.Notice{}); err != nil {
		t.Fatal(err)
	}
	// The client reconnects when a stream ends, and is refused.
	if err := <-ended; !errors.Is(err, api.ErrUnauthorized) {
		t.Errorf("the stream ended with %v", err)
	}
	if len(heard) > 0 {
		t.Errorf("also received %+v", <-heard)
	}
}

func TestShareLinksAreListedAndExpire(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	for _, id := range []string{"ours-000001", "other-000001"} {
		n.branched(t, id)
		n.shareOf(t, id, "e2")
	}
	ours := &client.Client{Base: n.Base, Token: n.create(t, api.TokenRequest{Name: "ow", Scope: access.Write, Prefix: "ours-"}).Bearer}
	list, err := ours.Shares(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Prefix != "ours-000001" || list[0].Until != "e2" {
		t.Errorf("a prefix token lists %+v, %v", list, err)
	}
	if _, err := ours.Shares(t.Context(), "other-000001"); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("a prefix token lists another session: %v", err)
	}
	if list, err := n.Shares(t.Context(), ""); err != nil || len(list) != 2 {
		t.Errorf("all: %+v, %v", list, err)
	}
	for why, q := range map[string]api.ShareRequest{"entry": {Until: "none"}, "expiry": {Expires: time.Now().Add(-time.Hour)}} {
		if m, err := n.Share(t.Context(), "ours-000001", q); err == nil {
			t.Errorf("a bad %s is accepted: %+v", why, m)
		}
	}
	if m, err := n.CreateToken(t.Context(), api.TokenRequest{Name: "s", Scope: access.Share, Prefix: "ours-000001"}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a share link is created as a token: %+v, %v", m, err)
	}
	// A session in the trash is shown to no link.
	m := n.shareOf(t, "ours-000001", "")
	if err := n.Delete(t.Context(), "ours-000001", api.Notice{Why: "test"}); err != nil {
		t.Fatal(err)
	}
	n.awaitShared(t, m.Bearer, http.StatusNotFound)
}

// A visitor can make no other calls, so the answer suggests none.
func TestShareLinkSaysWhyItShowsNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	n.branched(t, "ours-000001")
	revoked, removed := n.shareOf(t, "ours-000001", "e2"), n.shareOf(t, "ours-000001", "e3")
	if _, err := n.Unshare(t.Context(), "ours-000001", revoked.ID, api.Notice{}); err != nil {
		t.Fatal(err)
	}
	n.awaitShared(t, revoked.Bearer, http.StatusUnauthorized)
	if err := n.Delete(t.Context(), "ours-000001", api.Notice{Why: "test"}); err != nil {
		t.Fatal(err)
	}
	n.awaitShared(t, removed.Bearer, http.StatusNotFound)
	for bearer, want := range map[string]string{
		revoked.Bearer:            "the share link is unknown, was revoked or has expired",
		revoked.Bearer[:10] + "x": "the share link is unknown, was revoked or has expired",
		removed.Bearer:            "the session of this share link was removed: not found",
		n.Token:                   "this is not a share link: not found",
	} {
		var d api.Detail
		res, body := n.request(t, "GET", "/v1/shared", "", "Authorization", "Bearer "+bearer)
		if err := json.Unmarshal([]byte(body), &d); err != nil || d.Detail != want || d.Next != "Ask for a new link." {
			t.Errorf("%d %s, want %q", res.StatusCode, body, want)
		}
	}
}

func TestNodeWithoutTokensSharesNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.branched(t, "ours-000001")
	if m, err := n.Share(t.Context(), "ours-000001", api.ShareRequest{}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := n.Shared(t.Context()); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a caller without a link: %v", err)
	}
}
