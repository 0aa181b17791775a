package follow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

var (
	long = flag.Bool("long", false, "run the long form of random tests")
	seed = flag.Uint64("seed", 0, "the seed of random tests (default a random one)")
)

// dice returns a random source and logs its seed.
func dice(t testing.TB) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("run again with: -seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// An agent writes a session file, well and badly.
type agent struct {
	t     testing.TB
	r     *rand.Rand
	path  string
	omp   bool
	title int
	lines []string // of the file, after its header
	ids   []string // of lines
	n     int      // lines made
	calm  bool     // it only appends
}

func (a *agent) next() string {
	a.n++
	id, parent := fmt.Sprintf("%s%06d", "e", a.n), ""
	if len(a.ids) > 0 {
		parent = a.ids[len(a.ids)-1]
		if a.r.IntN(20) == 0 { // a branch
			parent = a.ids[a.r.IntN(len(a.ids))]
		}
	}
	a.ids = append(a.ids, id)
	l := said(id, parent, strings.Repeat("x", a.r.IntN(300)))
	a.lines = append(a.lines, l)
	return l
}

func (a *agent) data() string {
	head := header
	if a.omp {
		head = slot(fmt.Sprint("t", a.title)) + "\n" + ompHeader
	}
	return text(append([]string{head}, a.lines...)...)
}

// grow appends lines in pieces that may end within a line.
func (a *agent) grow() {
	var b []byte
	for range 1 + a.r.IntN(8) {
		b = append(b, a.next()...)
		b = append(b, '\n')
	}
	f, err := os.OpenFile(a.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	for len(b) > 0 {
		n := len(b)
		if a.r.IntN(2) == 0 {
			n = 1 + a.r.IntN(n)
		}
		if _, err := f.Write(b[:n]); err != nil {
			a.t.Fatal(err)
		}
		b = b[n:]
	}
}

// rewrite writes the whole file, in place or by a rename.
func (a *agent) rewrite() {
	path := a.path
	if a.r.IntN(2) == 0 {
		path = filepath.Join(filepath.Dir(a.path), ".tmp")
		defer func() {
			if err := os.Rename(path, a.path); err != nil {
				a.t.Fatal(err)
			}
		}()
	}
	write(a.t, path, a.data())
}

// step changes the file once.
func (a *agent) step() {
	if len(a.lines) < 3 || a.calm {
		a.grow()
		return
	}
	at := a.r.IntN(len(a.lines))
	switch a.r.IntN(16) {
	case 0: // change a line
		old := a.lines[at]
		from := string("xyz"[a.r.IntN(3)])
		a.lines[at] = strings.Replace(old, `"content":"`+from, `"content":"`+string("xyz"[a.r.IntN(3)])+strings.Repeat("!", a.r.IntN(2)), 1)
		a.rewrite()
	case 1: // truncate
		at = len(a.lines) - 1 - a.r.IntN(3)
		a.lines, a.ids = a.lines[:max(1, at)], a.ids[:max(1, at)]
		if err := os.Truncate(a.path, int64(len(a.data()))); err != nil {
			a.t.Fatal(err)
		}
	case 2: // remove a line
		a.lines, a.ids = slices.Delete(a.lines, at, at+1), slices.Delete(a.ids, at, at+1)
		a.rewrite()
	case 3: // overwrite the title
		if !a.omp {
			a.grow()
			return
		}
		a.title++
		f, err := os.OpenFile(a.path, os.O_WRONLY, 0)
		if err != nil {
			a.t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte(slot(fmt.Sprint("t", a.title))), 0); err != nil {
			a.t.Fatal(err)
		}
	case 4: // remove and restore
		if err := os.Remove(a.path); err != nil {
			a.t.Fatal(err)
		}
		if a.r.IntN(2) == 0 {
			a.next()
		}
		write(a.t, a.path, a.data())
	case 5: // rename
		to := filepath.Join(filepath.Dir(a.path), fmt.Sprintf("n%d.jsonl", a.n))
		if err := os.Rename(a.path, to); err != nil {
			a.t.Fatal(err)
		}
		a.path = to
	case 6: // grow and rewrite
		a.next()
		a.rewrite()
	default:
		a.grow()
	}
}

// check compares the log with the file.
func (a *agent) check(node *client.Client) {
	a.t.Helper()
	logged := map[string]string{}
	var order []string
	for _, line := range entries(a.t, node, sessionID) {
		var e struct{ ID, Type string }
		if err := json.Unmarshal(line, &e); err != nil {
			a.t.Fatal(err)
		}
		if e.Type == "title" {
			continue
		}
		if logged[e.ID] != "" {
			a.t.Errorf("entry %s is in the log twice", e.ID)
		}
		logged[e.ID] = string(line)
		order = append(order, e.ID)
	}
	for i, id := range a.ids {
		if logged[id] != a.lines[i] {
			a.t.Errorf("the file has\n%s\nthe log has\n%s", a.lines[i], logged[id])
		}
	}
	order = slices.DeleteFunc(order, func(id string) bool { return !slices.Contains(a.ids, id) })
	if !slices.Equal(order, a.ids) {
		at := 0
		for at < min(len(order), len(a.ids)) && order[at] == a.ids[at] {
			at++
		}
		near := func(ids []string) []string { return ids[max(0, min(at, len(ids))-3):min(len(ids), at+10)] }
		a.t.Errorf("from entry %d on the file has %v, the log has %v", at, near(a.ids), near(order))
	}
	if at := headAt(a.t, node, core.MainHead); len(a.ids) > 0 && at != a.ids[len(a.ids)-1] {
		a.t.Errorf("main points to %s, the file ends with %s", at, a.ids[len(a.ids)-1])
	}
	if a.omp {
		first, _, _ := bytes.Cut(exported(a.t, node, sessionID), []byte("\n"))
		if string(first) != slot(fmt.Sprint("t", a.title)) {
			a.t.Errorf("the title is %s", first)
		}
	}
}

// An agent changes its file at random while the follower is restarted, its state
// lags, the node is away, answers are lost and requests are delayed, with and
// without claims. In the end the log has every line of the file.
func TestRandomAgentEndsUpInTheLog(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ omp, claims bool }{
		"pi": {}, "omp": {omp: true}, "pi, claiming": {claims: true}, "omp, claiming": {omp: true, claims: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := dice(t)
			s := &setup{dir: t.TempDir(), state: t.TempDir(), node: startCluster(t).node(t), line: &line{}, told: &told{}}
			s.path = filepath.Join(s.dir, "a.jsonl")
			if x.claims {
				s.host, s.idle = "here", 300*time.Millisecond
			}
			s.open(t)
			a := &agent{t: t, r: r, path: s.path, omp: x.omp}
			a.next()
			write(t, a.path, a.data())
			stop := s.run(t)
			steps := 60
			if *long {
				steps = 2000
			}
			for i := range steps {
				a.step()
				switch r.IntN(20) {
				case 0:
					lags := r.IntN(2) == 0
					if lags { // it forgets at most the last change
						s.line.down.Store(false)
						s.flush(t)
					}
					stop()
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					if lags {
						s.forgetSome(t, r)
					}
					s.open(t)
					stop = s.run(t)
					if lags { // it catches up with what it forgot
						s.flush(t)
					}
				case 1:
					s.line.down.Store(r.IntN(2) == 0)
				case 2:
					s.line.lose.Store(r.Int64N(3))
				case 7:
					s.line.slow.Store(r.Int64N(3))
				case 3, 4, 5:
					time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond) // random timing; the test does not depend on it
				case 6:
					s.line.down.Store(false)
					s.flush(t)
					s.line.rest.Wait()
					a.check(s.node)
				}
				if t.Failed() {
					t.Fatalf("at step %d; notices: %v", i, s.told.all)
				}
			}
			s.line.down.Store(false)
			s.flush(t)
			stop()
			s.line.rest.Wait()
			a.check(s.node)
			if t.Failed() {
				t.Log(s.told.all)
			}
			for _, k := range []follow.Kind{follow.Diverged, follow.BadFile, follow.BadLine, follow.Stopped, follow.Unwatched} {
				if s.told.count(k) > 0 {
					t.Error(s.told.first(k))
				}
			}
		})
	}
}

// forgetSome truncates the state, as a crash would.
func (s *setup) forgetSome(t testing.TB, r *rand.Rand) {
	path := filepath.Join(s.state, "places")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-r.Int64N(min(info.Size(), 1500)+1)); err != nil {
		t.Fatal(err)
	}
}

// The follower is killed at random points while the file grows.
func TestKilledFollowerStoresEachLineOnce(t *testing.T) {
	t.Parallel()
	r := dice(t)
	node := startCluster(t).node(t)
	dir, state := t.TempDir(), t.TempDir()
	a := &agent{t: t, r: r, path: filepath.Join(dir, "a.jsonl"), calm: true}
	a.next()
	write(t, a.path, a.data())
	lines, every := 150, 30
	if *long {
		lines, every = 2000, 40
	}
	for a.n < lines {
		child := exec.Command(os.Args[0], "-test.run=^TestFollowUntilKilled$")
		child.Env = append(os.Environ(), "FOLLOW_NODE="+node.Base, "FOLLOW_DIR="+dir, "FOLLOW_STATE="+state)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		had := len(exportedOrNone(t, node))
		for upto := a.n + every; a.n < upto; {
			a.grow()
		}
		until(t, "more of the file", func() bool { return len(exportedOrNone(t, node)) > had })
		time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond) // a random point
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	b, err := follow.New(follow.Config{Node: node, Roots: []follow.Root{{Path: dir}}, State: state})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if got := string(exported(t, node, sessionID)); got != a.data() {
		t.Error("the log differs from the file")
	}
	a.check(node)
}

func exportedOrNone(t testing.TB, node *client.Client) []byte {
	r, err := node.Export(t.Context(), sessionID, false)
	if err != nil {
		return nil
	}
	_ = r.Close()
	return exported(t, node, sessionID)
}

// TestFollowUntilKilled is the process of the test above.
func TestFollowUntilKilled(t *testing.T) {
	base := os.Getenv("FOLLOW_NODE")
	if base == "" {
		t.Skip("it is run by another test")
	}
	b, err := follow.New(follow.Config{
		Node: &client.Client{Base: base}, Roots: []follow.Root{{Path: os.Getenv("FOLLOW_DIR")}}, State: os.Getenv("FOLLOW_STATE"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
