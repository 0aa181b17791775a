package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/session/catalog"
)

// asked maps each dialect to a session file with a prompt.
var asked = map[string]string{
	"pi": `{"type":"session","version":3,"id":"asked-pi","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/src/site"}
{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Fix the login page"}],"timestamp":1767225601000}}
{"type":"message","id":"a1b2c3d5","parentId":"a1b2c3d4","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"The login page is fixed"}]}}
`,
	"operator": `{"type":"session","version":3,"id":"asked-operator","timestamp":1767225600.5,"cwd":"/src/api"}
{"id":"u1","timestamp":1767225603.5,"type":"message","message":{"contents":[{"type":"text","content":"Why does the login fail?"}],"id":"m-1","timestamp":1767225603.25,"role":"user"}}
`,
	"omp": `{"type":"title","v":1,"title":"","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}
{"type":"session","version":3,"id":"asked-omp-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/src/app"}
{"type":"message","id":"c1b2c3d4","parentId":null,"timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"user","content":[{"type":"text","text":"Log in by key"}],"timestamp":1767225604000}}
`,
}

// OMP-43, FLEET-19: for every agent.
func TestPromptsOfEveryAgentAreFound(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for name, file := range asked {
		if _, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{Dialect: name}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		q    catalog.PromptQuery
		want []string
	}{
		{catalog.PromptQuery{}, []string{"omp: Log in by key", "operator: Why does the login fail?", "pi: Fix the login page"}},
		{catalog.PromptQuery{Text: "log"}, []string{"omp: Log in by key", "operator: Why does the login fail?", "pi: Fix the login page"}},
		{catalog.PromptQuery{Text: "LOGIN"}, []string{"operator: Why does the login fail?", "pi: Fix the login page"}},
		{catalog.PromptQuery{Text: "fixed"}, nil},
		{catalog.PromptQuery{CWD: "/src/api"}, []string{"operator: Why does the login fail?"}},
		{catalog.PromptQuery{Dialect: "pi"}, []string{"pi: Fix the login page"}},
		{catalog.PromptQuery{Session: "asked-pi", Text: "page"}, []string{"pi: Fix the login page"}},
		{catalog.PromptQuery{Limit: 1}, []string{"omp: Log in by key"}},
	} {
		page, err := n.Prompts(t.Context(), c.q)
		if err != nil {
			t.Fatalf("%+v: %v", c.q, err)
		}
		var got []string
		for _, p := range page.Prompts {
			got = append(got, fmt.Sprintf("%s: %s", p.Dialect, p.Prompt))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v: %s", c.q, diff)
		}
		if (page.Next != "") != (c.q.Limit == 1) {
			t.Errorf("%+v: next is %q", c.q, page.Next)
		}
	}
}

func TestPromptIsFoundAfterAppendReturns(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, asked["pi"])
	for i := range 5 {
		line := fmt.Sprintf(`{"type":"message","message":{"role":"user","content":[{"type":"text","text":"question %d"}]}}`, i)
		if _, err := n.Append(t.Context(), "asked-pi", []byte(line), client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		page, err := n.Prompts(t.Context(), catalog.PromptQuery{Text: fmt.Sprint("question ", i)})
		if err != nil || len(page.Prompts) != 1 {
			t.Fatalf("question %d: %d prompts, %v", i, len(page.Prompts), err)
		}
	}
	if err := n.Delete(t.Context(), "asked-pi", api.Notice{}); err != nil {
		t.Fatal(err)
	}
	if page, err := n.Prompts(t.Context(), catalog.PromptQuery{}); err != nil || len(page.Prompts) != 0 {
		t.Errorf("prompts of a session in the trash: %d prompts, %v", len(page.Prompts), err)
	}
}

func TestPromptsRejectsInvalidQueries(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for _, query := range []string{"q=***", "q=" + strings.Repeat("a", 2000), "limit=0", "limit=1001", "limit=x", "session=a/b", "before=yesterday"} {
		res, body := n.request(t, "GET", "/v1/prompts?"+query, "")
		if d := mustJSON[api.Detail](t, body); res.StatusCode != 400 || d.Code != "invalid" {
			t.Errorf("%s: %d %s", query, res.StatusCode, body)
		}
	}
	if res, body := n.request(t, "GET", "/v1/prompts", ""); res.StatusCode != 200 || body != "{\"prompts\":[]}\n" {
		t.Errorf("an empty history: %d %s", res.StatusCode, body)
	}
}
