package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/internal/testkit"
)

// Every request and answer in the tests of this package is checked against the
// OpenAPI description. A deviation fails the test that reads the answer, and in any
// case the whole run.

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.MoreParallel()
	conform := newConformity(http.DefaultTransport)
	http.DefaultClient.Transport = conform
	code := m.Run()
	if len(conform.broken) > 0 && !*update {
		fmt.Printf("%d answers are not as openapi.json has them; the first:\n%s\n", len(conform.broken), strings.Join(conform.broken[:min(len(conform.broken), 20)], "\n"))
		code = max(code, 1)
	}
	os.Exit(code)
}

// described is the part of the description that the tests check.
type described struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Parameters map[string]struct{ In, Name string }
		Responses  map[string]answerKind
	}
}

type operation struct {
	Parameters []struct {
		Ref      string `json:"$ref"`
		In, Name string
	}
	RequestBody struct{ Content map[string]contentKind }
	Responses   map[string]answerKind
}

type answerKind struct {
	Content map[string]contentKind
	Headers map[string]any
}

type contentKind struct {
	Schema, Each, First any
}

func (c *contentKind) UnmarshalJSON(b []byte) error {
	var all map[string]any
	err := json.Unmarshal(b, &all)
	c.Schema, c.Each, c.First = all["schema"], all["x-each"], all["x-first"]
	return err
}

// conformity is a transport that checks requests and answers of nodes.
type conformity struct {
	next http.RoundTripper
	doc  described
	mux  *http.ServeMux

	mu       sync.Mutex
	nodes    map[string]bool // by host and port
	compiler *jsonschema.Compiler
	made     map[string]*jsonschema.Schema // by their source
	broken   []string
}

func newConformity(next http.RoundTripper) *conformity {
	c := &conformity{next: next, mux: http.NewServeMux(), nodes: map[string]bool{}, compiler: jsonschema.NewCompiler(), made: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(api.OpenAPI(), &c.doc); err != nil {
		panic(err)
	}
	for path, methods := range c.doc.Paths {
		for method := range methods {
			c.mux.Handle(strings.ToUpper(method)+" "+path, http.NotFoundHandler())
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI()))
	if err == nil {
		shut(doc)
		err = c.compiler.AddResource("openapi.json", doc)
	}
	if err != nil {
		panic(err)
	}
	c.compiler.AssertFormat()
	return c
}

// shut makes objects reject members that are not described. Callers must accept
// others; the node sends none.
func shut(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, in := range v {
			shut(in)
		}
	case []any:
		for _, in := range v {
			shut(in)
		}
	}
}

// watch adds the node at base to the nodes that are checked.
func (c *conformity) watch(base string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[strings.TrimPrefix(base, "http://")] = true
}

func (c *conformity) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	known := c.nodes[r.URL.Host]
	c.mu.Unlock()
	res, err := c.next.RoundTrip(r)
	if err != nil || !known {
		return res, err
	}
	_, pattern := c.mux.Handler(withoutDryPath(r))
	_, path, _ := strings.Cut(pattern, " ")
	op := c.doc.Paths[path][strings.ToLower(r.Method)]
	if err := c.look(r, res, pattern, op); err != nil {
		_ = res.Body.Close()
		return nil, c.fail(r, res, err)
	}
	return res, nil
}

// withoutDryPath returns r without the path prefix of dry runs.
func withoutDryPath(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.URL.Path = strings.Replace(r.URL.Path, "/v1/dry-run/", "/v1/", 1)
	return r
}

// undescribed is a header of requests that deviate from the description on purpose.
const undescribed = "Test-Undescribed"

func (c *conformity) fail(r *http.Request, res *http.Response, err error) error {
	err = fmt.Errorf("%s %s, answered %s: does not match openapi.json: %w", r.Method, r.URL, res.Status, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = append(c.broken, err.Error())
	return err
}

func (c *conformity) look(r *http.Request, res *http.Response, pattern string, op operation) error {
	answer, ok := op.Responses[fmt.Sprint(res.StatusCode)]
	if !ok {
		if res.StatusCode < 400 {
			return fmt.Errorf("status is not described for %q", pattern)
		}
		answer = c.doc.Components.Responses["Problem"]
	} else if err := c.lookAtRequest(r, op); err != nil && res.StatusCode < 400 {
		return err
	}
	if res.Header.Get(server.HeaderRequest) == "" {
		return errors.New("it has no X-Request-Id")
	}
	for name := range res.Header {
		ours := strings.HasPrefix(name, "Sess-") || name == "Etag" || name == "Location"
		if ours && !slices.ContainsFunc(keys(answer.Headers), func(s string) bool { return strings.EqualFold(s, name) }) {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if kind == "" && len(answer.Content) == 0 {
		return nil
	}
	content, ok := answer.Content[kind]
	if !ok {
		return fmt.Errorf("%q is not described, %v are", kind, keys(answer.Content))
	}
	if r.Method == http.MethodHead {
		return nil
	}
	res.Body = &lookedAt{ReadCloser: res.Body, look: func(b []byte, whole bool) error {
		if err := c.lookAtBody(kind, content, b, whole); err != nil {
			return c.fail(r, res, err)
		}
		return nil
	}}
	return nil
}

func keys[T any](m map[string]T) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// lookAtRequest returns an error if a successful request is not as described.
func (c *conformity) lookAtRequest(r *http.Request, op operation) error {
	takes := map[string]bool{}
	for _, p := range op.Parameters {
		if key, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			p.In, p.Name = c.doc.Components.Parameters[key].In, c.doc.Components.Parameters[key].Name
		}
		takes[p.In+" "+strings.ToLower(p.Name)] = true
	}
	for name := range r.URL.Query() {
		if r.Header.Get(undescribed) == "" && !takes["query "+strings.ToLower(name)] {
			return fmt.Errorf("the parameter %q is not described", name)
		}
	}
	for name := range r.Header {
		ours := strings.HasPrefix(name, "Sess-") || name == "Idempotency-Key" || strings.HasPrefix(name, "If-") || name == "Last-Event-Id" || name == "Prefer"
		if ours && !takes["header "+strings.ToLower(name)] {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	content, ok := op.RequestBody.Content["application/json"]
	if !ok || r.GetBody == nil || r.Header.Get("Content-Type") == ndjson {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return err
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := c.validate(content.Schema, b); err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	return nil
}

func (c *conformity) lookAtBody(kind string, is contentKind, b []byte, whole bool) error {
	switch {
	case kind == "application/json" || kind == "application/problem+json":
		if !whole {
			return nil
		}
		return c.validate(is.Schema, b)
	case is.Each != nil:
		return c.lookAtEvents(is.Each, b)
	case is.First != nil:
		line, _, found := bytes.Cut(b, []byte("\n"))
		if !found {
			return nil
		}
		return c.validate(is.First, line)
	}
	return nil
}

// lookAtEvents checks the data of the server-sent events received so far.
func (c *conformity) lookAtEvents(each any, b []byte) error {
	events := strings.Split(string(b), "\n\n")
	for _, ev := range events[:len(events)-1] {
		is, data := each, ""
		for line := range strings.SplitSeq(ev, "\n") {
			if line == "event: problem" {
				is = map[string]any{"$ref": "#/components/schemas/Problem"}
			}
			if d, ok := strings.CutPrefix(line, "data: "); ok {
				data = d
			}
		}
		if data == "" {
			continue
		}
		if err := c.validate(is, []byte(data)); err != nil {
			return err
		}
	}
	return nil
}

func (c *conformity) validate(schema any, b []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	compiled, err := c.compile(schema)
	if err != nil {
		return err
	}
	if err := compiled.Validate(v); err != nil {
		return fmt.Errorf("%w\n%.500s", err, b)
	}
	return nil
}

// compile compiles a schema of the description and resolves references within it.
func (c *conformity) compile(schema any) (*jsonschema.Schema, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	says := strings.ReplaceAll(string(text), `"#/`, `"openapi.json#/`)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.made[says]; ok {
		return s, nil
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(says))
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("part-%d.json", len(c.made))
	if err := c.compiler.AddResource(name, doc); err != nil {
		return nil, err
	}
	s, err := c.compiler.Compile(name)
	c.made[says] = s
	return s, err
}

// lookedAt is the body of an answer whose beginning is checked.
type lookedAt struct {
	io.ReadCloser
	seen []byte
	look func(b []byte, whole bool) error
	done bool
}

// most is the number of bytes of a body that are checked: more than any JSON body has.
const most = 16 << 20

func (l *lookedAt) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if len(l.seen) < most {
		l.seen = append(l.seen, p[:n]...)
	}
	if err == io.EOF && !l.done {
		l.done = true
		if bad := l.look(l.seen, len(l.seen) < most); bad != nil {
			return n, bad
		}
	}
	return n, err
}

func (l *lookedAt) Close() error {
	if !l.done {
		l.done = true
		_ = l.look(l.seen, false) // recorded in broken
	}
	return l.ReadCloser.Close()
}
