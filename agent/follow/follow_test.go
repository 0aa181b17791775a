package follow_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
)

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.MoreParallel()
	os.Exit(m.Run())
}

const header = `{"type":"session","version":3,"id":"0199aaaa-0000-7000-8000-000000000001","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`

const sessionID = "0199aaaa-0000-7000-8000-000000000001"

// said returns a message of pi.
func said(id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":%q,"timestamp":1}}`, id, p, text)
}

func text(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// told collects notices.
type told struct {
	mu  sync.Mutex
	all []follow.Notice
}

func (n *told) note(x follow.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, x)
}

func (n *told) count(k follow.Kind) (c int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.all {
		if x.Kind == k {
			c++
		}
	}
	return c
}

func (n *told) first(k follow.Kind) follow.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.all {
		if x.Kind == k {
			return x
		}
	}
	return follow.Notice{}
}

func write(t testing.TB, path, data string) {
	t.Helper()
	testkit.WriteFile(t, path, []byte(data))
}

func add(t testing.TB, path, data string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(data); err != nil {
		t.Fatal(err)
	}
}

// A setup is a follower on a directory and a node.
type setup struct {
	*follow.Follower
	dir   string
	path  string // of a session file in dir
	state string
	node  *client.Client
	line  *line
	told  *told
	host  string        // empty: no claims
	idle  time.Duration // with host
	// secrets is what becomes of them.
	secrets secrets.Policy
}

// newSetup opens a follower with a new directory and its own connection to node.
func newSetup(t testing.TB, node *client.Client, state string) *setup {
	t.Helper()
	s := &setup{dir: t.TempDir(), state: state, node: node, line: &line{}, told: &told{}}
	s.path = filepath.Join(s.dir, "a.jsonl")
	s.open(t)
	return s
}

func (s *setup) open(t testing.TB) {
	t.Helper()
	b, err := follow.New(follow.Config{
		Node: s.line.through(s.node), Roots: []follow.Root{{Path: s.dir}}, State: s.state, Notify: s.told.note,
		By: "tester", Host: cmp.Or(s.host, "here"), Claims: s.host != "", Idle: s.idle, Secrets: s.secrets,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Follower = b
	t.Cleanup(func() { _ = b.Close() })
}

// run runs the follower until stop is called.
func (s *setup) run(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	b := s.Follower
	go func() { defer close(done); _ = b.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (s *setup) flush(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func (s *setup) inLog(t testing.TB, want string) {
	t.Helper()
	if got := string(exported(t, s.node, sessionID)); got != want {
		t.Errorf("the log has\n%s\nwant\n%s\nnotices: %v", got, want, s.told.all)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout waiting for %s", what)
		}
	}
}

func TestStoresLinesWhileTheFileGrows(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), "")
	s.run(t)
	data := text(header, said("a", "", "one"))
	add(t, s.path, data)
	has := func() bool {
		r, err := s.node.Export(t.Context(), sessionID, false)
		if err != nil {
			return false
		}
		_ = r.Close()
		return string(exported(t, s.node, sessionID)) == data
	}
	until(t, "the beginning", has)
	for i := range 20 {
		l := said(fmt.Sprint("b", i), "a", "x") + "\n"
		add(t, s.path, l[:10])
		add(t, s.path, l[10:])
		data += l
		until(t, l, has)
	}
	if n := s.told.count(follow.Began); n != 1 || len(s.told.all) != 1 {
		t.Error(s.told.all)
	}
	until(t, "the file is known to be in step", func() bool {
		f := s.Files()
		return len(f) == 1 && f[0].Session == sessionID && f[0].Offset == int64(len(data))
	})
}

func TestFlushStoresLastLineWithoutNewline(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), "")
	data := text(header, said("a", "", "one"))
	write(t, s.path, data+said("b", "a", "two"))
	s.flush(t)
	s.inLog(t, data+said("b", "a", "two")+"\n")
	add(t, s.path, "\n"+said("c", "b", "three")+"\n")
	s.flush(t)
	s.inLog(t, data+text(said("b", "a", "two"), said("c", "b", "three")))
}
