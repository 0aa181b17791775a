package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// A Suite is what an adapter has to do.
type Suite struct {
	Wire Wire
	// Model returns a model at a URL. It repeats a request once, and waits timeout
	// for the answer of each, or as its library does if timeout is 0.
	Model func(url string, timeout time.Duration) loop.Streamer
	// Status returns the HTTP status of an error of the adapter, 0 if it has none.
	Status func(error) int
}

// Run runs the tests.
func (s Suite) Run(t *testing.T) {
	for name, f := range map[string]func(*testing.T){
		"ReadsReplies":            s.readsReplies,
		"RefusesBrokenStreams":    s.refusesBrokenStreams,
		"RefusesBrokenResponses":  s.refusesBrokenResponses,
		"GivesUp":                 s.givesUp,
		"RepeatsWhatServersAsk":   s.repeatsWhatServersAsk,
		"LoopContinuesAfterError": s.loopContinues,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
}

func (s Suite) serve(t *testing.T, f http.HandlerFunc) loop.Streamer {
	t.Helper()
	return s.Model(server(t, f), 0)
}

func server(t *testing.T, f http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

var request = loop.Request{Messages: []loop.Message{{Role: loop.User, Text: "go"}}}

// whole is a reply that has everything.
var whole = loop.Reply{
	Text:   "hm",
	Calls:  []loop.Call{{ID: "c1", Name: "read", Arguments: `{"a":1}`}, {ID: "c2", Name: "list", Arguments: `{}`}},
	Usage:  &loop.Usage{Prompt: 3, Completion: 2, Total: 5},
	Finish: loop.FinishTools,
}

// readsReplies: a response and a stream are the same reply, and its pieces add up to
// it.
func (s Suite) readsReplies(t *testing.T) {
	for _, want := range []loop.Reply{
		whole,
		{Text: "grüß dich\n", Finish: loop.FinishStop},
		{Finish: loop.FinishFilter},
		{Text: "much", Finish: loop.FinishLength},
		{Text: "wait", Finish: "pause_turn"},
	} {
		m := s.serve(t, s.Wire.Script(want))
		got, err := m.Complete(t.Context(), request)
		testkit.Must(t, err)
		testkit.Equal(t, "response", want, got)
		var shown loop.Reply
		got, err = m.Stream(t.Context(), request, func(d loop.Delta) { add(&shown, d) })
		testkit.Must(t, err)
		testkit.Equal(t, "stream", want, got)
		shown.Usage, shown.Finish = want.Usage, want.Finish
		testkit.Equal(t, "pieces", want, shown)
	}
}

func add(r *loop.Reply, d loop.Delta) {
	if r.Text += d.Text; d.Text != "" {
		return
	}
	if d.Call == len(r.Calls) {
		r.Calls = append(r.Calls, loop.Call{})
	}
	c := &r.Calls[d.Call]
	c.ID, c.Name, c.Arguments = c.ID+d.ID, c.Name+d.Name, c.Arguments+d.Arguments
}

// refusesBrokenStreams: a stream that ends, breaks or is lost at any of its events is
// an error.
func (s Suite) refusesBrokenStreams(t *testing.T) {
	events := s.Wire.Events(whole)
	for n := range len(events) - s.Wire.Optional {
		before := slices.Clip(events[:n])
		other := s.Wire.Events(loop.Reply{Text: "other", Finish: loop.FinishStop})
		for name, answer := range map[string]http.HandlerFunc{
			"ends":         func(w http.ResponseWriter, _ *http.Request) { send(w, before...) },
			"is no JSON":   func(w http.ResponseWriter, _ *http.Request) { send(w, append(before, breakEvent(events[n]))...) },
			"has an error": func(w http.ResponseWriter, _ *http.Request) { send(w, append(before, s.Wire.Fault)...) },
			"loses its connection": func(w http.ResponseWriter, _ *http.Request) {
				send(w, before...)
				hangUp(w)
			},
		} {
			r, err := s.serve(t, answer).Stream(t.Context(), request, func(loop.Delta) {})
			if err == nil {
				t.Errorf("a stream that %s after %d events is the reply %+v", name, n, r)
			}
		}
		if n == 0 {
			continue
		}
		r, err := s.serve(t, func(w http.ResponseWriter, _ *http.Request) { send(w, append(before, other...)...) }).Stream(t.Context(), request, func(loop.Delta) {})
		if err == nil && s.Wire.Optional == 0 {
			t.Errorf("a stream with another one after %d events is the reply %+v", n, r)
		}
	}
}

// breakEvent cuts the end of an event off.
func breakEvent(e string) string { return e[:len(e)-1] }

func hangUp(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // the handler panics next
	panic(http.ErrAbortHandler)
}

// refusesBrokenResponses: a response that is not whole is an error.
func (s Suite) refusesBrokenResponses(t *testing.T) {
	text := s.Wire.Whole(whole)
	for name, answer := range map[string]http.HandlerFunc{
		"is cut":              func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, text[:len(text)/2]) },
		"is empty":            func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, "") },
		"is an empty object":  func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, "{}") },
		"is no object":        func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, "[]") },
		"is a stream":         func(w http.ResponseWriter, _ *http.Request) { send(w, s.Wire.Events(whole)...) },
		"loses its start":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"loses its end":       func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, text[:len(text)/2]); hangUp(w) },
		"is an error of 500":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) },
		"is a page of a host": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r, err := s.serve(t, answer).Complete(t.Context(), request); err == nil {
				t.Errorf("the reply is %+v", r)
			}
		})
	}
}

func answerJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, text)
}

// givesUp: a server that does not answer ends a request after its time, and a caller
// can end one.
func (s Suite) givesUp(t *testing.T) {
	silent := server(t, func(_ http.ResponseWriter, r *http.Request) { waitForClient(r) })
	if r, err := s.Model(silent, 10*time.Millisecond).Complete(t.Context(), request); err == nil {
		t.Errorf("the reply is %+v", r)
	}
	if r, err := s.Model(silent, 10*time.Millisecond).Stream(t.Context(), request, func(loop.Delta) {}); err == nil {
		t.Errorf("the reply is %+v", r)
	}
	// The caller gives up when the first piece is there.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := s.Wire.Events(whole)
	m := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
		send(w, events[:len(events)/2]...)
		_ = http.NewResponseController(w).Flush() // the caller notices
		waitForClient(r)
	})
	_, err := m.Stream(ctx, request, func(loop.Delta) { cancel() })
	testkit.WantErr(t, err, context.Canceled)
}

// waitForClient returns when the client has given the request up, which a server
// notices after it has read the request.
func waitForClient(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the client may be gone
	<-r.Context().Done()
}

// repeatsWhatServersAsk: the status 429 is repeated after the time that the server
// asks for; other refusals are not, and the error has the status
// and what the server says.
func (s Suite) repeatsWhatServersAsk(t *testing.T) {
	var n atomic.Int64
	refused := 1
	script := s.Wire.Script(whole)
	m := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= int64(refused) {
			w.Header().Set("Retry-After-Ms", "1")
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
			return
		}
		script(w, r)
	})
	got, err := m.Stream(t.Context(), request, func(loop.Delta) {})
	testkit.Must(t, err)
	testkit.Equal(t, "reply", whole, got)

	n.Store(0)
	refused = 2
	if _, err = m.Complete(t.Context(), request); s.Status(err) != http.StatusTooManyRequests || n.Load() != 2 {
		t.Errorf("error %v after %d requests", err, n.Load())
	}

	n.Store(0)
	m = s.serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
	})
	if _, err = m.Complete(t.Context(), request); s.Status(err) != http.StatusUnauthorized || !strings.Contains(err.Error(), "no such key") || n.Load() != 1 {
		t.Errorf("error %v after %d requests", err, n.Load())
	}
}

// loopContinues: a run whose model fails at any reply ends with a *loop.ModelError,
// and the next one continues it.
func (s Suite) loopContinues(t *testing.T) {
	script := s.Wire.Script(whole, loop.Reply{Text: "done", Finish: loop.FinishStop})
	for _, show := range []func(loop.Delta){nil, func(loop.Delta) {}} {
		good := true
		m := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
			if good = !good; good {
				script(w, r)
				return
			}
			send(w, s.Wire.Events(whole)[:2]...) // of a stream; no response is one
		})
		nodes := engine.NewLocal(engine.NewSessions(engine.Config{Log: engine.Plain(memlog.New("test")), Dialects: dialect.All()}), nil)
		o, err := session.Create(t.Context(), nodes, "/", session.Options{Dialect: "openrath", ID: loop.NewID()})
		testkit.Must(t, err)
		l, err := loop.New(o, loop.Config{Model: m, OnDelta: show})
		testkit.Must(t, err)
		testkit.Must(t, l.Say(t.Context(), "go"))
		for range 2 {
			_, err = l.Run(t.Context())
			if _, ok := errors.AsType[*loop.ModelError](err); !ok {
				t.Fatalf("the run ended with %v", err)
			}
		}
		r, err := l.Run(t.Context())
		testkit.Must(t, err)
		if rows := l.Messages(); r.Text != "done" || len(rows) != 5 || len(rows[1].Calls) != 2 {
			t.Errorf("result %+v, rows %+v", r, rows)
		}
	}
}
