package capabilities

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

var (
	long  = flag.Bool("long", false, "play more random sessions")
	first = flag.Uint64("first", 1, "the seed of the first random session")
)

// A caller is a program that knows the addresses of nodes and nothing else. It
// sends each request to one of them.
type caller struct {
	*testing.T
	rng   *rand.Rand
	nodes []*harness.Node
}

// do sends a request and requires its status. It returns the answer.
func (c caller) do(status int, method, path, body string) []byte {
	c.Helper()
	got, b := c.try(method, path, body)
	if got != status {
		c.Fatalf("%s %s answers %d, want %d: %s\n%s", method, path, got, status, b, body)
	}
	return b
}

// try sends a request and returns the status and the answer.
func (c caller) try(method, path, body string) (int, []byte) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.nodes[c.rng.IntN(len(c.nodes))].URL+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", contentType(path))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	return res.StatusCode, b
}

// contentType is that of a body that path takes.
func contentType(path string) string {
	if strings.HasSuffix(path, "/entries") || strings.Contains(path, "/import") || strings.Contains(path, "dialect=") {
		return "application/x-ndjson"
	}
	return "application/json"
}

// jsonText returns v as JSON without escapes of HTML.
func jsonText(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// sequences plays each of short or, with -long, more random sequences against the
// same nodes.
func sequences(t *testing.T, short, more int, play func(c caller)) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds and runs the programs; not with -short")
	}
	n := short
	if *long {
		n = more
	}
	cluster := startNodes(t, programDir(t))
	for seed := *first; seed < *first+uint64(n); seed++ {
		play(caller{t, rand.New(rand.NewPCG(seed, 0)), cluster})
		if t.Failed() {
			t.Fatalf("seed %d; alone: -args -first %d", seed, seed)
		}
	}
	t.Logf("%d sequences, seeds %d to %d", n, *first, *first+uint64(n)-1)
}
