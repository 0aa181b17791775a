package agent

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/nodetest"
)

var steps = flag.Int("steps", 2, "play the sequences of two hosts of `N` steps after the first")

// The steps of a sequence. The agent of a host writes one line in a turn.
const (
	turn    = 't' // sessctl run, with a turn
	offline = 'o' // the same without a node; sessctl is killed
	idle    = 'i' // sessctl run, without a turn
	resume  = 'r' // sessctl resume, and a turn
)

// TestTwoHostsInAllOrders plays all sequences of steps of two hosts with the real
// follower and a real node, and compares them with a model: a line continues main if
// main is where its host left it, and else goes to a separate head, of which its host is
// told. No host is kept out, because no writer remains that has nothing to write.
func TestTwoHostsInAllOrders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it plays dozens of sequences; not with -short")
	}
	node := nodetest.Start(t, nodetest.Config{Level: slog.LevelError}).Client
	slots := make(chan struct{}, 8)
	all := sequences(*steps)
	if *steps < 3 { // two that found faults
		all = append(all, []string{"at", "br", "at", "ar"}, []string{"at", "ao", "br", "at"})
	}
	for i, seq := range all {
		t.Run(strings.Join(seq, ","), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			w := newTwoHosts(t, node, fmt.Sprintf("two-hosts-%d", i))
			for _, s := range seq {
				w.step(s)
			}
			w.end()
		})
	}
	t.Logf("%d sequences", len(all))
}

// sequences returns sequences of n steps after the first turn, which makes the
// session on host a. A host that has no file yet has to resume the session first. Of
// sequences that lead to the same state of the model by the same last steps, all are
// played and one is continued.
func sequences(n int) (all [][]string) {
	next := [][]string{{"a" + string(turn)}}
	seen := map[string]bool{}
	for range n {
		var longer [][]string
		for _, seq := range next {
			for _, host := range "ab" {
				for _, what := range []rune{turn, offline, idle, resume} {
					if host == 'b' && what != resume && !slices.Contains(seq, "b"+string(resume)) {
						continue
					}
					longer = append(longer, append(slices.Clone(seq), string(host)+string(what)))
				}
			}
		}
		next = nil
		for _, seq := range longer {
			if key := stateAfter(seq); !seen[key] {
				seen[key] = true
				next = append(next, seq)
			} else {
				all = append(all, seq)
			}
		}
	}
	return append(all, next...)
}

// stateAfter returns the state of the model after seq, and its last steps.
func stateAfter(seq []string) string {
	m := newTwoFiles()
	for _, s := range seq {
		f, what := m.files[s[0]], rune(s[1])
		if what == resume {
			m.stored(f)
			m.resumed(f)
		}
		if what != idle {
			m.wrote(f)
		}
		if what != offline {
			m.stored(f)
		}
	}
	key := strings.Join(seq[max(0, len(seq)-3):], ",")
	for _, name := range "ab" {
		f := m.files[byte(name)]
		key += fmt.Sprintln("", f.leaf == "", f.leaf == m.main, f.base == m.main, f.leaf == f.base, f.apart, len(f.pending) > 0)
	}
	return key
}

// twoFiles is the model: the files of a session on two hosts, and its heads.
type twoFiles struct {
	files map[byte]*aFile
	main  string            // the leaf of main
	lines map[string]string // the parent of each line that was written
	heads int               // separate heads
}

// aFile is what the model knows of a file.
type aFile struct {
	leaf    string // the last line
	base    string // where main was when the host was last in step with it
	pending []string
	apart   bool // its lines go to a separate head
}

func newTwoFiles() twoFiles {
	return twoFiles{files: map[byte]*aFile{'a': {}, 'b': {}}, lines: map[string]string{}}
}

// wrote adds a line to f. It returns its id and its parent.
func (m *twoFiles) wrote(f *aFile) (id, parent string) {
	id, parent = fmt.Sprintf("e%07d", len(m.lines)), f.leaf
	m.lines[id] = parent
	f.pending = append(f.pending, id)
	f.leaf = id
	return id, parent
}

// stored stores the pending lines of f. It returns those that go to a separate head.
func (m *twoFiles) stored(f *aFile) (apart []string) {
	if len(f.pending) == 0 {
		return nil
	}
	if !f.apart && f.base != m.main {
		f.apart = true
		m.heads++
	}
	if f.apart {
		apart = f.pending
	} else {
		m.main, f.base = f.leaf, f.leaf
	}
	f.pending = nil
	return apart
}

// resumed replaces f by main.
func (m *twoFiles) resumed(f *aFile) { f.leaf, f.base, f.apart = m.main, m.main, false }

// twoHosts are two hosts with a session, and what is expected of it.
type twoHosts struct {
	twoFiles
	t     *testing.T
	node  *client.Client
	id    string
	hosts map[byte]*aHost
}

// aHost is a host, its agent, and what is expected of its file.
type aHost struct {
	*Host
	*aFile
	node *client.Client
	cut  atomic.Bool
	path string
}

func newTwoHosts(t *testing.T, node *client.Client, id string) *twoHosts {
	w := &twoHosts{twoFiles: newTwoFiles(), t: t, node: node, id: id, hosts: map[byte]*aHost{}}
	for _, name := range "ab" {
		env := map[string]string{"HOME": t.TempDir()}
		h := &aHost{Host: testHost(env), aFile: w.files[byte(name)]}
		h.Name = "host-" + string(name)
		h.node = &client.Client{Base: node.Base, Token: node.Token, HTTP: &http.Client{Transport: h}}
		h.path = filepath.Join(env["HOME"], ".pi", "agent", "sessions", "--w--", "2026-01-02T03-04-05-000Z_"+id+".jsonl")
		w.hosts[byte(name)] = h
	}
	a := w.hosts['a']
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write(a, fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}`, id))
	return w
}

// RoundTrip implements http.RoundTripper.
func (h *aHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.cut.Load() {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (w *twoHosts) write(h *aHost, line string) {
	w.t.Helper()
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
	if err != nil || f.Close() != nil {
		w.t.Fatal(err)
	}
}

// step plays one step and compares the log with the model.
func (w *twoHosts) step(s string) {
	h, what := w.hosts[s[0]], rune(s[1])
	h.cut.Store(what == offline)
	var claim *OpenFile
	told := false
	if what == resume {
		r, err := Resume(w.t.Context(), h.Host, h.node, core.SessionID(w.id), ResumeOptions{ClaimOptions: ClaimOptions{Head: core.MainHead}, Dir: filepath.Dir(h.path)})
		if err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
		told = r.Imported != nil && r.Imported.Head != core.MainHead
		h.path = r.Path
		claim = &OpenFile{Path: r.Path, Session: r.ID, Dialect: "pi", Claim: r.Claim}
		w.expect(s, h, told)
		w.resumed(h.aFile)
	}
	if claim == nil {
		claim = &OpenFile{Path: h.path, Session: core.SessionID(w.id), Dialect: "pi"}
	}
	told = w.run(h, what, claim)
	if what == offline {
		return
	}
	w.expect(s, h, told)
}

// run runs sessctl run with an agent that writes at most one line, and reports whether
// its user is told of a separate head.
func (w *twoHosts) run(h *aHost, what rune, open *OpenFile) (told bool) {
	const ended = 1 << 30 // no process has this id
	ctx := w.t.Context()
	f := newFollower(h.Host, h.node, "/", []string{"pi"})
	f.start(ctx, ended, open)
	if what != idle {
		id, before := w.wrote(h.aFile)
		parent, _ := json.Marshal(before)
		if before == "" {
			parent = []byte("null")
		}
		w.write(h, strings.TrimSuffix(message(id, string(parent), "on "+h.Name), "\n"))
	}
	if what == offline { // killed
		f.stop()
		f.wait.Wait()
		for _, watched := range f.followed() {
			watched.cancel()
			<-watched.done
			_ = watched.follower.Close()
		}
		return false
	}
	results, waiting := f.finish(ctx)
	for _, r := range append(results, f.earlier...) {
		if r.Error != "" || r.Waiting+waiting > 0 {
			w.t.Errorf("%s: %+v, %d wait", h.Name, r, waiting)
		}
		told = told || r.Head != core.MainHead
	}
	return told
}

// expect applies the lines of h to the model and compares it with the log.
func (w *twoHosts) expect(s string, h *aHost, told bool) {
	w.t.Helper()
	if apart := w.stored(h.aFile); len(apart) > 0 && !told {
		w.t.Errorf("%s: its user is not told that %v are on a separate head", s, apart)
	}
	hs, err := w.node.Heads(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	if n := len(hs.Heads) - 1; n != w.heads {
		w.t.Errorf("%s: %d separate heads, want %d", s, n, w.heads)
	}
	for _, head := range hs.Heads {
		if head.Head == core.MainHead && head.Leaf != core.LeafAt(w.main) {
			w.t.Errorf("%s: main points to %v, want %s", s, head.Leaf, w.main)
		}
		if head.Claim != nil && !strings.HasSuffix(s, string(resume)) {
			w.t.Errorf("%s: %s is still held by %+v", s, head.Head, head.Claim)
		}
	}
}

// end lets both hosts return, and checks that the log has all lines, as they were
// written, and that a head leads to each.
func (w *twoHosts) end() {
	for _, name := range "ab" {
		if h := w.hosts[byte(name)]; h.leaf != "" {
			w.step(string(name) + string(idle))
		}
	}
	if w.t.Failed() {
		return
	}
	body, err := w.node.Entries(w.t.Context(), w.id, false, client.View{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer body.Close()
	logged := map[string]string{}
	in := json.NewDecoder(body)
	for {
		var e struct{ ID, ParentID string }
		err := in.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.t.Fatal(err)
		}
		logged[e.ID] = e.ParentID
	}
	if !maps.Equal(logged, w.lines) {
		w.t.Errorf("the log has %v; written were %v", logged, w.lines)
	}
	hs, err := w.node.Heads(w.t.Context(), w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, head := range hs.Heads {
		for at, _ := head.Leaf.ID(); at != ""; at = w.lines[at] {
			delete(logged, at)
		}
	}
	if len(logged) > 0 {
		w.t.Errorf("no head leads to %v", logged)
	}
}
