package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/internal/nodetest"
)

// A node runs in this process. Its answers are checked against the OpenAPI
// description.
type node struct{ *nodetest.Node }

type nodeOption func(*server.Config)

// startNode runs a node on its own server until the test ends.
func startNode(t *testing.T, opts ...nodeOption) *node {
	t.Helper()
	return startNodeOf(t, nodetest.Config{}, opts...)
}

func startNodeOf(t *testing.T, cfg nodetest.Config, opts ...nodeOption) *node {
	t.Helper()
	cfg.Serve = func(c *server.Config) {
		for _, o := range opts {
			o(c)
		}
	}
	n := nodetest.Start(t, cfg)
	http.DefaultClient.Transport.(*conformity).watch(n.Base)
	return &node{n}
}

// importText imports a file and fails the test on an error.
func (n *node) importText(t *testing.T, file string) api.Imported {
	t.Helper()
	res, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{})
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return res
}

// read reads all of what a call of the client returned.
func read(t *testing.T, r io.ReadCloser, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// detail returns the problem document in err.
func detail(t *testing.T, err error) api.Detail {
	t.Helper()
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("error is %v, want a problem document", err)
	}
	return e.Detail
}

// request sends a raw HTTP request.
func (n *node) request(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// mustJSON decodes b.
func mustJSON[T any](t *testing.T, b string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(b), &v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}
