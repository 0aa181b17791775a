package follow_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
)

// A late is a request whose connection breaks: the sender gets no answer, and the
// request arrives when arrive is called.
type late struct {
	method, path string // of the request; path is a suffix
	then         func() // called after it was sent
	request      *http.Request
}

func (x *late) is(r *http.Request) bool {
	return x != nil && r.Method == x.method && strings.HasSuffix(r.URL.Path, x.path)
}

func (x *late) take(r *http.Request) error {
	x.request = r.Clone(context.Background())
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		x.request.Body = io.NopCloser(bytes.NewReader(body))
	}
	x.then()
	return errors.New("the connection broke")
}

// arrive sends the request to the node, and returns the status.
func (x *late) arrive(t testing.TB) int {
	t.Helper()
	r, err := http.DefaultTransport.RoundTrip(x.request)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

// A request that arrives after the file has changed again changes nothing, also if
// the follower was restarted in the meantime.
func TestDelayedRequestChangesNothing(t *testing.T) {
	t.Parallel()
	a, b, c := said("a", "", "one"), said("b", "a", "two"), said("c", "b", "three")
	for name, x := range map[string]struct {
		method, path        string // of the delayed request
		before, sent, after []string
	}{
		"an amendment, and the line is as it was": {http.MethodPatch, "/b", []string{a, b}, []string{a, said("b", "a", "2!!")}, []string{a, b}},
		"an amendment, and the line is a third":   {http.MethodPatch, "/b", []string{a, b}, []string{a, said("b", "a", "2!!")}, []string{a, said("b", "a", "2??")}},
		"lines at the end that are gone":          {http.MethodPost, "/entries", []string{a, b}, []string{a, b, c}, []string{a, b}},
		"lines at the end that are other ones":    {http.MethodPost, "/entries", []string{a, b}, []string{a, b, c}, []string{a, b, said("d", "b", "four")}},
		"lines of a comparison that are gone":     {http.MethodPost, "/import", []string{a, b}, []string{a, said("b", "a", "2!!"), c}, []string{a, said("b", "a", "2!!")}},
		"a move to where the file ended":          {http.MethodPut, "/heads/main", []string{a, b}, []string{a}, []string{a, b}},
		"a session's beginning":                   {http.MethodPost, "/import", nil, []string{a, b}, []string{a}},
	} {
		for _, anew := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", restarted"}[anew], func(t *testing.T) {
				t.Parallel()
				s := newSetup(t, startCluster(t).node(t), t.TempDir())
				put := func(lines []string) { write(t, s.path, text(append([]string{header}, lines...)...)) }
				if x.before != nil {
					put(x.before)
					s.flush(t)
				}
				put(x.sent)
				ctx, cancel := context.WithCancel(t.Context())
				slow := &late{method: x.method, path: x.path}
				slow.then = func() {
					put(x.after)
					if anew {
						cancel() // as if the process died
					}
				}
				s.line.late.Store(slow)
				if err := s.Flush(ctx); anew && err == nil || !anew && err != nil {
					t.Fatal(err)
				}
				cancel()
				if anew {
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					s.open(t)
					s.flush(t)
				}
				status := slow.arrive(t)
				want := text(append([]string{header}, x.after...)...)
				s.inLog(t, want)
				last := strings.Split(x.after[len(x.after)-1], `"`)[7]
				if at := headAt(t, s.node, core.MainHead); at != last {
					t.Errorf("main points to %s, the file ends with %s; the status is %d", at, last, status)
				}
				add(t, s.path, said("z", last, "on")+"\n")
				s.flush(t)
				s.inLog(t, want+said("z", last, "on")+"\n")
				for _, k := range []follow.Kind{follow.Diverged, follow.Conflict, follow.BadFile} {
					if s.told.count(k) > 0 {
						t.Error(s.told.first(k))
					}
				}
			})
		}
	}
}

// An import that arrives while the later content of the file is imported is part of
// its history.
func TestDelayedImportIsNoConflict(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	want := text(header, said("a", "", "one"), said("b", "a", "2!!"))
	slow := &late{method: http.MethodPost, path: "/import", then: func() { write(t, s.path, want) }}
	s.line.late.Store(slow)
	arrived := false
	first := func(r *http.Request) {
		if slow.is(r) && !arrived {
			arrived = true
			slow.arrive(t)
		}
	}
	s.line.before.Store(&first)
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	s.inLog(t, want)
	for _, k := range []follow.Kind{follow.Diverged, follow.Conflict, follow.BadFile} {
		if s.told.count(k) > 0 {
			t.Error(s.told.first(k))
		}
	}
}
