package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/internal/hint"
)

func TestClaimStoreRemembersOneClaimPerHead(t *testing.T) {
	t.Parallel()
	c := testHost(map[string]string{"XDG_STATE_HOME": t.TempDir()}).Claims
	want := StoredClaim{Session: "session-1", Head: "main", Writer: "w1", Epoch: 3, Agent: "pi", Since: time.Unix(1, 0).UTC(), Path: "/p"}
	for _, h := range []StoredClaim{want, {Session: "session-1", Head: "a.b", Writer: "w2"}, {Session: "session-1-a", Head: "b", Writer: "w3"}} {
		if err := c.Save(h); err != nil {
			t.Fatal(err)
		}
	}
	got, ok, err := c.Load("session-1", "main")
	if !ok || err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v: %s", ok, err, cmp.Diff(want, got))
	}
	if info, err := os.Stat(c.path("session-1", "main")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("other users can read the claim: %v, %v", info.Mode(), err)
	}
	if err := c.Forget("session-1", "main", "w0"); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.Load("session-1", "main"); !ok {
		t.Error("Forget removed the claim of a different writer")
	}
	if err := c.Forget("session-1", "main", "w1"); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := c.Load("session-1", "main"); ok {
		t.Error("the claim is still remembered")
	}
	if h, ok, _ := c.Load("session-1", "a.b"); !ok || h.Writer != "w2" {
		t.Error("Forget removed the claim on a different head")
	}
}

func TestClaimStoreReportsCorruptFiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := testHost(map[string]string{"HOME": home, "XDG_STATE_HOME": "relative"}).Claims
	if err := c.Save(StoredClaim{Session: "session-1", Head: "main", Writer: "w"}); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(home, ".local", "state", "sesslog", "claims"); c.Dir != want {
		t.Errorf("the directory is %s, want %s", c.Dir, want)
	}
	for _, text := range []string{"", "{", `{"session":"session-2","head":"main","writer":"w"}`} {
		_ = os.WriteFile(c.path("session-1", "main"), []byte(text), 0o600)
		_, ok, err := c.Load("session-1", "main")
		if ok || err == nil || !strings.Contains(nextOf(err), "--no-claim") {
			t.Errorf("%q: %v, %v", text, ok, err)
		}
	}
}

func TestClaimStoreWithoutHomeRemembersNothing(t *testing.T) {
	t.Parallel()
	c := testHost(nil).Claims
	if _, ok, err := c.Load("session-1", "main"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if c.Save(StoredClaim{Session: "session-1", Head: "main", Writer: "w"}) == nil {
		t.Error("Save succeeded without a directory")
	}
}

func nextOf(err error) string {
	next, _ := hint.Of(err)
	return next
}
