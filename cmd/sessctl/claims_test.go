package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClaimsAreRemembered(t *testing.T) {
	t.Parallel()
	a := testApp(map[string]string{"XDG_STATE_HOME": t.TempDir()})
	c := a.claims()
	want := held{Session: "session-1", Head: "main", Writer: "w1", Epoch: 3, Agent: "pi", Since: time.Unix(1, 0).UTC(), Path: "/p"}
	for _, h := range []held{want, {Session: "session-1", Head: "a.b", Writer: "w2"}, {Session: "session-1-a", Head: "b", Writer: "w3"}} {
		if err := c.save(h); err != nil {
			t.Fatal(err)
		}
	}
	got, ok, err := c.load("session-1", "main")
	if !ok || err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v: %s", ok, err, cmp.Diff(want, got))
	}
	if info, err := os.Stat(c.path("session-1", "main")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the memory is open to others: %v, %v", info.Mode(), err)
	}
	if err := c.forget("session-1", "main", "w0"); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.load("session-1", "main"); !ok {
		t.Error("a claim went with the memory of another writer's")
	}
	if err := c.forget("session-1", "main", "w1"); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.load("session-1", "main"); ok {
		t.Error("the claim is still remembered")
	}
	if h, ok, _ := c.load("session-1", "a.b"); !ok || h.Writer != "w2" {
		t.Error("another head's claim is gone")
	}
}

func TestClaimsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	a := testApp(map[string]string{"HOME": t.TempDir(), "XDG_STATE_HOME": "relative"})
	c := a.claims()
	if err := c.save(held{Session: "session-1", Head: "main", Writer: "w"}); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(a.env("HOME"), ".local", "state", "sesslog", "claims"); c.dir != want {
		t.Errorf("remembered in %s, want %s", c.dir, want)
	}
	for _, text := range []string{"", "{", `{"session":"session-2","head":"main","writer":"w"}`} {
		_ = os.WriteFile(c.path("session-1", "main"), []byte(text), 0o600)
		_, ok, err := c.load("session-1", "main")
		if ok || err == nil || !strings.Contains(describe(err, "").Next, "--no-claim") {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
}

func TestNoHomeNoMemory(t *testing.T) {
	t.Parallel()
	c := testApp(nil).claims()
	if _, ok, err := c.load("session-1", "main"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if c.save(held{Session: "session-1", Head: "main", Writer: "w"}) == nil {
		t.Error("remembered nowhere")
	}
}
