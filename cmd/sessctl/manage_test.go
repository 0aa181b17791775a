package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// OP-23, PI-32
func TestBranchWithASummary(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var sent, head, key string
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/branch", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		sent, head, key = string(b), r.Header.Get(api.HeaderHead), r.Header.Get(api.HeaderIdempotency)
		_ = json.NewEncoder(w).Encode(core.Receipt{IDs: []string{"e9"}, Cursor: core.Cursor{Seq: 4}, Stored: 1})
	})
	want := `{"session":"` + testID + `","head":"main","leaf":"e9","seq":"4-0000000000000000","cursor":"4-0000000000000000"}`
	wantResult(t, f.run("move-head", testID, "e1", "--summary", "tried", "--details", `{"a":1}`, "-o", "json"), 0, want, "")
	if sent != `{"at":{"id":"e1"},"summary":"tried","details":{"a":1}}` || head != "main" || key == "" {
		t.Errorf("sent %s, head %q, key %q", sent, head, key)
	}
	wantResult(t, f.run("move-head", testID, "null", "--summary", "tried", "--head", "side"), 0, "head side points to e9\n", "")
	if sent != `{"at":{"none":true},"summary":"tried"}` || head != "side" {
		t.Errorf("sent %s, head %q", sent, head)
	}
}

// OP-27, PI-28
func TestChildrenOfASessionInTheLog(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/children", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"of":"`+r.URL.Query().Get("of")+`"}`+"\n"+`{"n":2}`+"\n")
	})
	wantResult(t, f.run("children", testID, "e1"), 0, `{"of":"e1"}`+"\n"+`{"n":2}`+"\n", "")
	wantResult(t, f.run("children", testID, "-o", "json"), 0, `[{"of":""},{"n":2}]`, "")
}

// OP-35
func TestWholeForkIsKnownAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var keys, bodies []string
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/fork", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		keys, bodies = append(keys, r.Header.Get(api.HeaderIdempotency)), append(bodies, string(b))
		if len(keys) == 1 {
			panic(http.ErrAbortHandler) // the answer is lost
		}
		_ = json.NewEncoder(w).Encode(api.Created{ID: "forked-01"})
	})
	wantResult(t, f.run("fork", testID, "--whole", "--id", "forked-01"), 0, "forked-01\n", "")
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] || bodies[0] != bodies[1] || !strings.Contains(bodies[0], `"whole":true`) {
		t.Errorf("keys %q, bodies %q; want the same twice", keys, bodies)
	}
}

// OP-34, OP-38, OMP-41, PI-37
func TestContinueAndNarrowListings(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var query string
	f.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		list := api.List{Sessions: []catalog.Row{}}
		if r.URL.Query().Get("cwd") == "/work" {
			list.Sessions = append(list.Sessions, catalog.Row{ID: testID})
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	f.Answers("GET /v1/sessions/"+testID, api.Info{Log: api.LogInfo{Session: testID, Cursor: core.Cursor{Seq: 3}}})
	f.Answers("POST /v1/sessions", api.Created{ID: "made-0001"})
	wantResult(t, f.run("new", "--continue", "--cwd", "/work", "-o", "json"), 0, `{"id":"`+testID+`","seq":"3-0000000000000000","cursor":"3-0000000000000000"}`, "")
	if query != "cwd=%2Fwork&dialect=pi&limit=1&sort=changed" {
		t.Errorf("asked for %s", query)
	}
	wantResult(t, f.run("new", "--continue", "--cwd", "/elsewhere"), 0, "made-0001\n", "")
	wantResult(t, f.run("ls", "--cwd", "/work", "--dialect", "omp", "--text", "a name", "--limit", "1"), 0, testID, "")
	if query != "cwd=%2Fwork&dialect=omp&limit=1&text=a+name" {
		t.Errorf("asked for %s", query)
	}
}

// PI-19, PI-20, PI-21, PI-22, PI-23, PI-24, PI-25, PI-26
func TestAppendOfAKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect string
		args    []string
		want    []string
	}{
		{"pi", []string{"message", "--text", "go on"}, []string{`"type":"message"`, `"role":"user"`, `"go on"`}},
		{"pi", []string{"message", "--role", "assistant", "--text", "done", "--provider", "p", "--model", "m"}, []string{`"role":"assistant"`, `"done"`}},
		{"pi", []string{"level", "--text", "high"}, []string{`"thinkingLevel":"high"`}},
		{"pi", []string{"model", "--provider", "p", "--model", "m"}, []string{`"provider":"p"`, `"modelId":"m"`}},
		{"pi", []string{"compaction", "--text", "so far", "--target", "e1", "--tokens", "9"}, []string{`"summary":"so far"`, `"firstKeptEntryId":"e1"`, `"tokensBefore":9`}},
		{"pi", []string{"custom", "--type", "x", "--details", `{"a":1}`}, []string{`"customType":"x"`, `"data":{"a":1}`}},
		{"pi", []string{"note", "--type", "x", "--text", "seen"}, []string{`"type":"custom_message"`, `"customType":"x"`, `"seen"`}},
		{"pi", []string{"label", "--target", "e1", "--text", "here"}, []string{`"targetId":"e1"`, `"label":"here"`}},
		{"pi", []string{"name", "--text", "a name"}, []string{`"name":"a name"`}},
		{"operator", []string{"message", "--role", "assistant", "--text", "done", "--provider", "p", "--model", "m"}, []string{`{"type":"model_change","model_id":"m"`, `"role":"assistant"`}},
		{"omp", []string{"mode", "--text", "plan"}, []string{`"type":"mode_change"`, `"mode":"plan"`}},
		{"operator", []string{"channel", "--text", "chat"}, []string{`"type":"channel"`, `"name":"chat"`}},
		{"operator", []string{"leaf", "--target", "e1"}, []string{`"type":"leaf"`, `"target_id":"e1"`}},
		{"operator", []string{"leaf", "--target", "null"}, []string{`{"type":"leaf"}`}},
	} {
		f := newFake(t)
		f.Has([]string{testID})
		f.Answers("GET /v1/sessions/"+testID, api.Info{Log: api.LogInfo{Session: testID, Dialect: c.dialect}})
		f.Answers("GET /v1/sessions/"+testID+"/children", []json.RawMessage{})
		var line string
		f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/entries", func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			line = string(b)
			_ = json.NewEncoder(w).Encode(core.Receipt{IDs: []string{"e9"}, Stored: 1})
		})
		wantResult(t, f.run(append([]string{"append", testID, "--kind"}, c.args...)...), 0, "1 line stored", "")
		for _, want := range c.want {
			if !strings.Contains(line, want) {
				t.Errorf("%s %q: sent %s, want %s in it", c.dialect, c.args, line, want)
			}
		}
	}
	f := newFake(t)
	f.Has([]string{testID})
	f.Answers("GET /v1/sessions/"+testID, api.Info{Log: api.LogInfo{Session: testID, Dialect: "pi"}})
	wantResult(t, f.run("append", testID, "--kind", "channel", "--text", "chat"), cli.ExitInvalid, "", "pi has no entry for a channel")
}

// A line that lacks what its kind is about has no effect in the agent.
func TestAppendKindRejectsMissingParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect string
		args    []string
		want    string
	}{
		{"omp", []string{"model", "--model", "gem"}, "a model is a provider and a name"},
		{"omp", []string{"model", "--provider", "p"}, "a model is a provider and a name"},
		{"omp", []string{"model"}, "a model is a provider and a name"},
		{"pi", []string{"model", "--model", "m"}, "a model is a provider and a name"},
		{"operator", []string{"model", "--provider", "p"}, "a model is a provider and a name"},
		{"nova", []string{"model"}, "a model is a provider and a name"},
		{"omp", []string{"mode"}, "the name of the mode is empty"},
		{"operator", []string{"channel"}, "the name of the channel is empty"},
		{"pi", []string{"custom", "--details", "1"}, "the type of the custom"},
		{"pi", []string{"note", "--text", "x"}, "the type of the note"},
		{"omp", []string{"level", "--text", "bogus"}, `"bogus" (not one of off, minimal, low, medium, high, xhigh, max)`},
		{"pi", []string{"level"}, `"" (not one of off, minimal, low, medium, high, xhigh)`},
	} {
		f := newFake(t)
		f.Has([]string{testID})
		f.Answers("GET /v1/sessions/"+testID, api.Info{Log: api.LogInfo{Session: testID, Dialect: c.dialect}})
		wantResult(t, f.run(append([]string{"append", testID, "--kind"}, c.args...)...), cli.ExitInvalid, "", c.want)
	}
}

// No agent could append after a leaf that points to a missing entry.
func TestAppendKindRejectsMissingTarget(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	f.Answers("GET /v1/sessions/"+testID, api.Info{Log: api.LogInfo{Session: testID, Dialect: "operator"}})
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/children", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"code":"not-found","detail":"has no entry"}`)
	})
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/entries", func(http.ResponseWriter, *http.Request) {
		t.Error("an entry was sent")
	})
	for _, kind := range []string{"label", "leaf", "compaction"} {
		wantResult(t, f.run("append", testID, "--kind", kind, "--target", "gone", "--text", "x"), cli.ExitNotFound, "", "has no entry")
	}
	wantResult(t, f.run("append", testID, "--kind", "label", "--text", "x"), cli.ExitUsage, "", "--target is missing")
	wantResult(t, f.run("append", testID, "--kind", "compaction", "--tokens", "-5"), cli.ExitUsage, "", "--tokens -5 is below 0")
}

func TestSeveralURLsAreTriedInTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	wantResult(t, f.run("ls", "--url", "http://127.0.0.1:1, "+f.URL), 0, testID, "")
	wantResult(t, f.run("ls", "--url", f.URL+",ftp://x"), cli.ExitUsage, "", `"ftp://x" is not the URL of a node`)
	wantResult(t, f.run("ls", "--url", "http://127.0.0.1:1,http://127.0.0.1:2"), cli.ExitUnavailable, "",
		"no node at http://127.0.0.1:1,http://127.0.0.1:2: connection refused")
}
