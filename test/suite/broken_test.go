package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A proxy changes what passes between the suite and a node.
type proxy struct {
	node   http.Handler
	killed atomic.Bool  // the server was killed
	holder atomic.Value // the last writer that got a claim
}

// brokenServers break one promise each. The scenarios that are named must find it.
var brokenServers = []struct {
	name  string
	found []string
	serve func(p *proxy, w http.ResponseWriter, r *http.Request)
}{
	{"forgets idempotency keys", []string{"create-once", "append-once", "append-unheard"}, without("Idempotency-Key")},
	{"ignores If-Match", []string{"condition"}, without("If-Match")},
	{"has one head", []string{"heads"}, without("Sess-Head")},
	{"ignores the cursor of a stream", []string{"resume"}, without("Last-Event-ID")},
	{"swaps events", []string{"resume"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("wait") {
			p.node.ServeHTTP(w, r)
			return
		}
		p.answer(w, r, func(b []byte) []byte {
			all := bytes.SplitAfter(b, []byte("\n\n"))
			if len(all) > 4 {
				all[2], all[3] = all[3], all[2]
			}
			return bytes.Join(all, nil)
		})
	}},
	{"lets any writer write under the newest claim", []string{"fencing"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		switch holder, _ := p.holder.Load().(string); {
		case strings.HasSuffix(r.URL.Path, "/claims"):
			p.answer(w, r, func(b []byte) []byte {
				var claimed struct{ Writer string }
				if json.Unmarshal(b, &claimed) == nil && claimed.Writer != "" {
					p.holder.Store(claimed.Writer)
				}
				return b
			})
			return
		case appends(r) && holder != "":
			r.Header.Set("Sess-Writer", holder)
		}
		p.node.ServeHTTP(w, r)
	}},
	{"does not name the holder", []string{"fencing", "kill-claims"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		p.answer(w, r, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`"holder":`), []byte(`"other":`)) })
	}},
	{"takes every claim over", []string{"one-claim", "fencing"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/claims") {
			change(r, func(b []byte) []byte { return bytes.Replace(b, []byte("{"), []byte(`{"takeOver":true,`), 1) })
		}
		p.node.ServeHTTP(w, r)
	}},
	{"answers appends without storing them", []string{"append-once", "bytes", "no-orphan", "trash"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if appends(r) {
			r.URL.Path = strings.Replace(r.URL.Path, "/v1/", "/v1/dry-run/", 1)
		}
		p.node.ServeHTTP(w, r)
	}},
	{"stores lines one by one", []string{"append-whole", "no-orphan"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if !appends(r) {
			p.node.ServeHTTP(w, r)
			return
		}
		b, _ := io.ReadAll(r.Body) // of this process
		var last *httptest.ResponseRecorder
		for line := range bytes.Lines(b) {
			one := r.Clone(r.Context())
			change(one, func([]byte) []byte { return line })
			last = httptest.NewRecorder()
			p.node.ServeHTTP(last, one)
		}
		copyAnswer(w, last, last.Body.Bytes())
	}},
	{"writes lines in its own way", []string{"bytes"}, inLines(func(line map[string]any) {})},
	{"adopts orphans", []string{"no-orphan"}, inLines(func(line map[string]any) { delete(line, "parentId") })},
	{"puts rebased lines on branches", []string{"rebase"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "=rebase", "=branch", 1)
		p.node.ServeHTTP(w, r)
	}},
	{"hides instead of erasing", []string{"erase"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutSuffix(r.URL.Path, "/erase"); ok {
			r.URL.Path = path + "/delete"
			change(r, func([]byte) []byte { return []byte("{}") })
		}
		p.node.ServeHTTP(w, r)
	}},
	{"shows erased sessions", []string{"erase"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/entries") {
			_, _ = io.WriteString(w, "{}\n")
			return
		}
		p.node.ServeHTTP(w, r)
	}},
	{"does not delete", []string{"trash"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/delete") {
			p.node.ServeHTTP(w, r)
		}
	}},
	{"explains no errors", []string{"errors", "append-whole"}, func(p *proxy, w http.ResponseWriter, r *http.Request) {
		p.answer(w, r, func(b []byte) []byte {
			if bytes.Contains(b, []byte(`"urn:sesslog:`)) {
				return []byte("{}")
			}
			return b
		})
	}},
	{"forgets idempotency keys when it is killed", []string{"kill-claims"}, afterKill(without("Idempotency-Key"))},
	{"forgets claims when it is killed", []string{"kill-claims"}, afterKill(func(p *proxy, w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = "onConflict=branch"
		p.node.ServeHTTP(w, r)
	})},
	{"loses an entry when it is killed", []string{"kill-durable"}, afterKill(func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/entries") {
			p.node.ServeHTTP(w, r)
			return
		}
		p.answer(w, r, func(b []byte) []byte { return b[:bytes.LastIndexByte(bytes.TrimSpace(b), '\n')+1] })
	})},
	{"forgets cursors when it is killed", []string{"kill-durable"}, afterKill(without("Last-Event-ID"))},
}

type serve = func(*proxy, http.ResponseWriter, *http.Request)

// appends reports whether a request appends entries.
func appends(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/entries")
}

// without passes requests without a header.
func without(header string) serve {
	return func(p *proxy, w http.ResponseWriter, r *http.Request) {
		r.Header.Del(header)
		p.node.ServeHTTP(w, r)
	}
}

// inLines changes the lines that are appended, and marshals them again.
func inLines(edit func(map[string]any)) serve {
	return func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if appends(r) {
			change(r, func(b []byte) (out []byte) {
				for line := range bytes.Lines(b) {
					var v map[string]any
					if json.Unmarshal(line, &v) == nil {
						edit(v)
						line, _ = json.Marshal(v) // of JSON
					}
					out = append(append(out, line...), '\n')
				}
				return out
			})
		}
		p.node.ServeHTTP(w, r)
	}
}

// afterKill breaks what is served after a kill.
func afterKill(broken serve) serve {
	return func(p *proxy, w http.ResponseWriter, r *http.Request) {
		if p.killed.Load() {
			broken(p, w, r)
			return
		}
		p.node.ServeHTTP(w, r)
	}
}

// change replaces the body of a request.
func change(r *http.Request, edit func([]byte) []byte) {
	b, _ := io.ReadAll(r.Body) // of this process
	b = edit(b)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
}

// answer passes a request and replaces the body of its answer.
func (p *proxy) answer(w http.ResponseWriter, r *http.Request, edit func([]byte) []byte) {
	rec := httptest.NewRecorder()
	p.node.ServeHTTP(rec, r)
	copyAnswer(w, rec, edit(rec.Body.Bytes()))
}

func copyAnswer(w http.ResponseWriter, rec *httptest.ResponseRecorder, body []byte) {
	maps.Copy(w.Header(), rec.Header())
	w.Header().Del("Content-Length")
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body) // the suite sees what is missing
}

func TestScenariosFindBrokenServers(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	base, err := url.Parse(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	all, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range brokenServers {
		t.Run(broken.name, func(t *testing.T) {
			t.Parallel()
			p := &proxy{node: &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }, FlushInterval: -1,
				ErrorLog: log.New(t.Output(), "", 0),
			}}
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { broken.serve(p, w, r) }))
			t.Cleanup(front.Close)
			for _, name := range broken.found {
				p.killed.Store(false)
				s := &server{urls: []string{front.URL}, kill: func(context.Context) error { p.killed.Store(true); return nil }}
				i := slices.IndexFunc(all, func(sc scenario) bool { return sc.Name == name })
				if i < 0 {
					t.Fatalf("no scenario %s", name)
				}
				err := run(t.Context(), s, all[i])
				if err == nil {
					t.Errorf("%s did not find it", name)
				}
				t.Logf("%s: %v", name, err)
			}
		})
	}
}

func TestEachScenarioFindsABrokenServer(t *testing.T) {
	t.Parallel()
	all, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range all {
		found := false
		for _, broken := range brokenServers {
			found = found || slices.Contains(broken.found, sc.Name)
		}
		if !found {
			t.Errorf("no broken server for scenario %s", sc.Name)
		}
	}
}
