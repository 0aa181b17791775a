package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/internal/testkit"
)

// whoAsked answers status and keeps the token it was asked with.
func whoAsked(f *fakeNode) *string {
	var token string
	f.Mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(api.Status{Node: "n", Healthy: true, Summary: "all is well"})
	})
	return &token
}

func TestContextsNameClusters(t *testing.T) {
	t.Parallel()
	one, two := newFake(t), newFake(t)
	oneToken, twoToken := whoAsked(one), whoAsked(two)
	env := map[string]string{"SESS_URL": "", "HOME": one.home}
	run := func(args ...string) result { return one.runWith(env, args...) }

	wantResult(t, run("contexts"), 0, "", "no contexts")
	wantResult(t, run("contexts", "add", "one", "--url", one.URL, "--token", "secret-one"), 0, "one  "+one.URL, "")
	secret := filepath.Join(one.home, "two.token")
	testkit.WriteFile(t, secret, []byte("secret-two\n"))
	wantResult(t, run("contexts", "add", "two", "--url", two.URL, "--token-file", secret), 0, "two  ", "")
	wantResult(t, run("contexts", "add", "two", "--url", two.URL), cli.ExitConflict, "", "already exists")

	// The first one is the current one.
	wantResult(t, run("status"), 0, "all is well", "")
	if *oneToken != "Bearer secret-one" || *twoToken != "" {
		t.Errorf("one got %q, two got %q", *oneToken, *twoToken)
	}
	wantResult(t, run("--context", "two", "status"), 0, "all is well", "")
	if *twoToken != "Bearer secret-two" {
		t.Errorf("two got %q", *twoToken)
	}
	wantResult(t, run("contexts", "use", "two"), 0, "two", "")
	list := run("contexts", "ls")
	wantResult(t, list, 0, "*  two", "")
	if strings.Contains(list.out, "secret") {
		t.Errorf("a token is shown:\n%s", list.out)
	}
	wantResult(t, run("contexts", "rm", "two"), 0, "two is removed", "it was the current one")
	wantResult(t, run("contexts", "use", "two"), cli.ExitUsage, "", "choose one of one")

	info, err := os.Stat(filepath.Join(one.home, ".config", "sesslog", "contexts.yaml"))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file with tokens is %v, %v", info, err)
	}
}

// A token is for the nodes of its context alone: never for a URL from elsewhere.
func TestContextTokenIsSentOnlyToItsNodes(t *testing.T) {
	t.Parallel()
	home, other := newFake(t), newFake(t)
	token := whoAsked(other)
	env := map[string]string{"SESS_URL": "", "HOME": home.home}
	wantResult(t, home.runWith(env, "contexts", "add", "home", "--url", home.URL, "--token", "hush"), 0, "", "")
	wantResult(t, home.runWith(env, "--url", other.URL, "status"), 0, "", "")
	wantResult(t, home.runWith(map[string]string{"SESS_URL": other.URL, "HOME": home.home}, "status"), 0, "", "")
	if *token != "" {
		t.Errorf("another node was sent %q", *token)
	}
	wantResult(t, home.runWith(env, "--url", other.URL, "--context", "home", "status"), cli.ExitUsage, "", "exclude each other")
}

func TestInvalidContextsAreRejected(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	env := map[string]string{"SESS_URL": ""}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"contexts", "add", "a/b", "--url", f.URL}, "is not a context name"},
		{[]string{"contexts", "add", "a"}, "--url is missing"},
		{[]string{"contexts", "add", "a", "--url", "ftp://x"}, "is not the URL of a node"},
		{[]string{"--context", "a", "ls"}, "sessctl contexts add a --url URL"},
	} {
		wantResult(t, f.runWith(env, c.args...), cli.ExitUsage, "", c.want)
	}
	path := filepath.Join(f.home, ".config", "sesslog", "contexts.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, path, []byte("curent: x\n"))
	wantResult(t, f.runWith(env, "ls"), cli.ExitInvalid, "", path)
}
