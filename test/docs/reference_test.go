package docs_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

var update = flag.Bool("update", false, "write docs/API-REFERENCE.md")

// TestReferenceOfTheAPI holds docs/API-REFERENCE.md to api/openapi.json.
func TestReferenceOfTheAPI(t *testing.T) {
	t.Parallel()
	b := testkit.ReadFile(t, filepath.Join(root, "api", "openapi.json"))
	var api description
	if err := json.Unmarshal(b, &api); err != nil {
		t.Fatal(err)
	}
	path, want := filepath.Join(root, "docs", "API-REFERENCE.md"), api.page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s differs from api/openapi.json (%v); run: go test ./test/docs -run Reference -update", path, err)
	}
}

// A description is what the page needs of an OpenAPI document.
type description struct {
	Paths      map[string]map[string]operation
	Components struct{ Parameters map[string]parameter }
}

type operation struct {
	Tags        []string
	Summary     string
	Parameters  []parameter
	RequestBody struct{ Content map[string]content }
	Responses   map[string]struct{ Content map[string]content }
}

type parameter struct {
	Ref         string `json:"$ref"`
	In, Name    string
	Description string
	Schema      struct{ Enum []string }
}

type content struct {
	Schema struct {
		Ref string `json:"$ref"`
	}
}

// everywhere are parameters that API.md explains once, for all calls.
var everywhere = []string{"X-Request-Id", "Prefer", "If-None-Match", "Sess-Dry-Run", "strict", "seen"}

// filter are the parameters that select sessions, in lists, searches and streams.
var filter = []string{
	"prefix", "cwd", "below", "dialect", "holder", "tag", "label", "name", "text", "state", "deleted", "modifiedFrom",
	"modifiedTo", "createdFrom", "createdTo", "minSize", "maxSize", "minCost", "maxCost",
}

var preface = `# API reference

<!-- written from api/openapi.json by: go test ./test/docs -run Reference -update -->

All calls of a node, by subject. [API.md](API.md) explains what they have in common; ` + "`/openapi.json`" + ` has the
members of each body and answer. Not repeated below: ` + "`X-Request-Id`, `Prefer`, `If-None-Match`, `Sess-Dry-Run`," + `
` + "`strict` and `seen`. *filter* stands for\n`" + strings.Join(filter[:10], "`, `") + "`,\n`" + strings.Join(filter[10:], "`, `") + "`.\n"

func (d *description) page() string {
	subjects := map[string][]string{}
	params := map[string]parameter{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			op := d.Paths[path][method]
			row := fmt.Sprintf("| `%s %s` | %s | %s | %s |\n", strings.ToUpper(method), path, op.Summary,
				d.named(op, params), op.bodies())
			subjects[op.Tags[0]] = append(subjects[op.Tags[0]], row)
		}
	}
	var b strings.Builder
	b.WriteString(preface)
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		fmt.Fprintf(&b, "\n## %s%s\n\n| call | what it does | parameters | body → answer |\n|---|---|---|---|\n",
			strings.ToUpper(subject[:1]), subject[1:])
		b.WriteString(strings.Join(subjects[subject], ""))
	}
	b.WriteString("\n## Parameters\n\n| parameter | in | |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p := params[name]
		said := p.Description
		if len(p.Schema.Enum) > 0 {
			said += " One of: `" + strings.Join(p.Schema.Enum, "`, `") + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, p.In, said)
	}
	return b.String()
}

// named returns the names of an operation's parameters, and notes each
// parameter once for each description that it has.
func (d *description) named(op operation, noted map[string]parameter) string {
	var names []string
	filtered := slices.ContainsFunc(op.Parameters, func(p parameter) bool { return strings.HasSuffix(p.Ref, "query.modifiedFrom") })
	for _, p := range op.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
		}
		if p.In == "path" || slices.Contains(everywhere, p.Name) {
			continue
		}
		noted[p.Name+" "+p.In+" "+p.Description] = p
		if filtered && slices.Contains(filter, p.Name) {
			continue
		}
		names = append(names, "`"+p.Name+"`")
	}
	if filtered {
		names = append(names, "*filter*")
	}
	return strings.Join(names, ", ")
}

// bodies returns the types of an operation's request and of its good answer.
func (op operation) bodies() string {
	in, out := types(op.RequestBody.Content), ""
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if strings.HasPrefix(status, "2") {
			out = types(op.Responses[status].Content)
			if out == "" {
				out = status
			}
		}
	}
	if in == "" {
		return "→ " + out
	}
	return in + " → " + out
}

func types(bodies map[string]content) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(bodies)) {
		if ref := bodies[kind].Schema.Ref; ref != "" {
			kind = ref[strings.LastIndex(ref, "/")+1:]
		}
		all = append(all, "`"+kind+"`")
	}
	return strings.Join(all, " or ")
}
