package server_test

import (
	"bytes"
	"flag"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/server"
)

var update = flag.Bool("update", false, "rewrite the expected files")

func TestOpenAPIMatchesHandlers(t *testing.T) {
	t.Parallel()
	want := slices.Sorted(maps.Keys(calls))
	if diff := cmp.Diff(want, server.Patterns()); diff != "" {
		t.Errorf("calls of the server (+) and in describe_test.go (-) differ:\n%s", diff)
	}
	made, err := describe("../..")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("../openapi.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(made, api.OpenAPI()) {
		t.Errorf("openapi.json is out of date with the types, their comments or describe_test.go; run: go test ./api/server -run TestOpenAPIMatchesHandlers -update\n%s",
			cmp.Diff(string(api.OpenAPI()), string(made)))
	}
}

func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpenAPIIsServedWithoutToken(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(c *server.Config) { c.Token = "secret" })
	res, body := n.request(t, http.MethodGet, "/openapi.json", "")
	if res.StatusCode != http.StatusOK || body != string(api.OpenAPI()) {
		t.Errorf("the answer is %s with %d bytes", res.Status, len(body))
	}
}
