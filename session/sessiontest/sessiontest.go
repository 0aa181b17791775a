package sessiontest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// A Place is where the suite stores its sessions.
type Place struct {
	// Log is nil for sessions in memory.
	Log session.Log
	// Records returns how many records a session has in the log; 0 if it does not
	// exist.
	Records func(t *testing.T, id core.SessionID) int
}

// Run runs the suite. It calls open once for each dialect.
func Run(t *testing.T, open func(t *testing.T) Place) {
	for _, d := range []string{"pi", "omp", "operator"} {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			for _, c := range anywhere {
				t.Run(c.name, func(t *testing.T) { c.run(t, &suite{Place: p, dialect: d}) })
			}
			if p.Log == nil {
				return
			}
			for _, c := range inLog {
				t.Run(c.name, func(t *testing.T) { c.run(t, &suite{Place: p, dialect: d}) })
			}
		})
	}
}

type test struct {
	name string
	run  func(*testing.T, *suite)
}

// A suite is the environment of one test.
type suite struct {
	Place
	dialect string
}

func (w *suite) options() session.Options {
	return session.Options{Dialect: w.dialect, Agent: "test", Host: "here", By: "me"}
}

// create makes a session in a directory named after the test.
func (w *suite) create(t *testing.T, change ...func(*session.Options)) *session.Session {
	t.Helper()
	return w.createIn(t, "/home/dev/"+t.Name(), change...)
}

func (w *suite) createIn(t *testing.T, cwd string, change ...func(*session.Options)) *session.Session {
	t.Helper()
	o := w.options()
	for _, c := range change {
		c(&o)
	}
	var s *session.Session
	var err error
	if w.Log == nil {
		s, err = session.InMemory(cwd, o)
	} else {
		s, err = session.Create(t.Context(), w.Log, cwd, o)
	}
	testkit.Must(t, err)
	return s
}

// open opens a session as another process would; by default Shared.
func (w *suite) open(t *testing.T, id core.SessionID, change ...func(*session.Options)) *session.Session {
	t.Helper()
	o := w.options()
	o.Access = session.Shared
	for _, c := range change {
		c(&o)
	}
	s, err := session.Open(t.Context(), w.Log, id, o)
	testkit.Must(t, err)
	return s
}

func lazy(o *session.Options)     { o.Lazy = true }
func shared(o *session.Options)   { o.Access = session.Shared }
func claimed(o *session.Options)  { o.Access = session.Claimed }
func takeOver(o *session.Options) { o.Access = session.TakeOver }
func readOnly(o *session.Options) { o.Access = session.ReadOnly }

// message returns a line in the format of the dialect, without id, parent and time.
func (w *suite) message(role item.Role, text string) []byte {
	quoted, _ := json.Marshal(text)
	switch {
	case w.dialect == "operator":
		return fmt.Appendf(nil, `{"type":"message","message":{"role":%q,"contents":[{"type":"text","content":%s}]}}`, role, quoted)
	case role == item.RoleAssistant:
		return fmt.Appendf(nil, `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":%s}],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"total":0}},"stopReason":"stop","timestamp":1}}`, quoted)
	}
	return fmt.Appendf(nil, `{"type":"message","message":{"role":%q,"content":[{"type":"text","text":%s}],"timestamp":1}}`, role, quoted)
}

func (w *suite) user(t *testing.T, s *session.Session, text string) string {
	t.Helper()
	return w.line(t, s, w.message(item.RoleUser, text))
}

func (w *suite) assistant(t *testing.T, s *session.Session, text string) string {
	t.Helper()
	return w.line(t, s, w.message(item.RoleAssistant, text))
}

func (w *suite) line(t *testing.T, s *session.Session, line []byte) string {
	t.Helper()
	ids, err := s.AppendLine(t.Context(), line)
	testkit.Must(t, err)
	return ids[0]
}

// chat makes a session with four messages and returns their ids.
func (w *suite) chat(t *testing.T, change ...func(*session.Options)) (*session.Session, []string) {
	t.Helper()
	s := w.create(t, change...)
	return s, []string{w.user(t, s, "one"), w.assistant(t, s, "two"), w.user(t, s, "three"), w.assistant(t, s, "four")}
}

// same compares the headers, entries, leaves and contexts of two sessions.
func same(t *testing.T, want, got *session.Session) {
	t.Helper()
	testkit.Equal(t, "header", string(want.Header().Line), string(got.Header().Line))
	testkit.Equal(t, "entries", lines(want.Entries()), lines(got.Entries()))
	if want.Leaf() != got.Leaf() {
		t.Errorf("the leaf is %v, want %v", got.Leaf(), want.Leaf())
	}
	a, err := want.Context(core.Leaf{})
	testkit.Must(t, err)
	b, err := got.Context(core.Leaf{})
	testkit.Must(t, err)
	testkit.Equal(t, "context", string(a), string(b))
}

func lines(es []core.Entry) (out []string) {
	for _, e := range es {
		out = append(out, string(e.Line))
	}
	return out
}

func ids(es []core.Entry) []string {
	out := []string{}
	for _, e := range es {
		out = append(out, e.ID)
	}
	return out
}

// texts returns those of words that the context at leaf contains, in its order.
func texts(t *testing.T, s *session.Session, leaf core.Leaf, words ...string) []string {
	t.Helper()
	b, err := s.Context(leaf)
	testkit.Must(t, err)
	found := []string{}
	at := map[string]int{}
	for _, word := range words {
		if i := strings.Index(string(b), `"`+word+`"`); i >= 0 {
			found, at[word] = append(found, word), i
		}
	}
	slices.SortFunc(found, func(a, b string) int { return at[a] - at[b] })
	return found
}

// wantLeaf fails the test unless the leaf of s is the entry id.
func wantLeaf(t *testing.T, s *session.Session, id string) {
	t.Helper()
	if s.Leaf() != core.LeafAt(id) {
		t.Errorf("the leaf is %v, want %s", s.Leaf(), id)
	}
	e, ok := s.LeafEntry()
	if !ok || e.ID != id {
		t.Errorf("the leaf entry is %q, %v, want %s", e.ID, ok, id)
	}
}
