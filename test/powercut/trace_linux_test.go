package powercut_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// The system calls of a real node show that each answer was sent after a flush that began
// after its record was written, and that a new block's name was flushed, too.
func TestEveryAnswerFollowsItsFlush(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	// With a limit of 100 KiB, the server makes blocks of 32 kB.
	node := harness.NewNode(t, "--nats-sync="+*mode, "--log-max-bytes=100KiB", "--log-garbage=0")
	calls := filepath.Join(t.TempDir(), "calls")
	node.Via = []string{strace, "-D", "-f", "-y", "-s", "1024", "--seccomp-bpf", "-e", "trace=openat,pwrite64,write,fsync", "-o", calls}
	node.Start(t)
	acked := appendUntilFull(t, node)
	if node.Terminate(t) != 0 {
		t.Error("the node did not stop cleanly")
	}
	tr := readTrace(t, calls)
	for _, cursor := range acked {
		if err := tr.check(cursor); err != nil {
			t.Errorf("append %s: %v", cursor, err)
		}
	}
	if len(tr.created) < 3 {
		t.Errorf("%d blocks were made, want several", len(tr.created))
	}
	t.Logf("%d answered appends in %d blocks, %d flushes of blocks: each after its write and before its answer", len(acked), len(tr.created), tr.flushes())
}

// appendUntilFull appends with several writers to several sessions, until the log is
// full or 400 lines are acknowledged. It returns the cursors of the answers.
func appendUntilFull(t *testing.T, node *harness.Node) (cursors []string) {
	t.Helper()
	var mu sync.Mutex
	var writers sync.WaitGroup
	for i := range 4 {
		made, err := node.Client().Create(harness.Timeout(t), api.Create{CWD: "/home/tester"})
		if err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			c, r := node.Client(), rand.New(rand.NewPCG(uint64(i), 3))
			for range 100 {
				done, err := c.Append(harness.Timeout(t), string(made.ID), []byte(harness.Message("user", fmt.Sprintf("%x", r.Uint64()))), client.AppendOptions{})
				if err != nil {
					return // full
				}
				mu.Lock()
				cursors = append(cursors, done.Cursor.String())
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	if len(cursors) < 50 {
		t.Fatalf("%d appends were answered", len(cursors))
	}
	return cursors
}

// A trace is the order of a node's system calls, by the lines at which they began and
// ended.
type trace struct {
	written map[string]call   // by the beginning of the record's cursor
	answers map[string]int    // line at which the answer was sent
	syncs   map[string][]call // by path
	created map[string]int    // line after which a block was created
}

type call struct {
	path       string
	begin, end int
}

var (
	callLine    = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	resumedLine = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
	fdPath      = regexp.MustCompile(`^\d+<([^>]*)>`)
	openedPath  = regexp.MustCompile(`= \d+<([^>]*)>`)
	recordLine  = regexp.MustCompile(`Sess-Seq: (\d+)\\r\\n.*Sess-Chain: ([0-9a-zA-Z_-]+)|Sess-Chain: ([0-9a-zA-Z_-]+)\\r\\n.*Sess-Seq: (\d+)\\r\\n`)
	answerLine  = regexp.MustCompile(`\\"seq\\":\\"([^\\]+)\\"`)
)

// readTrace reads the output of strace.
func readTrace(t *testing.T, path string) *trace {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr := &trace{written: map[string]call{}, answers: map[string]int{}, syncs: map[string][]call{}, created: map[string]int{}}
	type begun struct {
		line int
		text string
	}
	open := map[string]begun{} // by thread
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if m := resumedLine.FindStringSubmatch(text); m != nil {
			b := open[m[1]]
			delete(open, m[1])
			tr.add(m[2], b.text+m[3], b.line, n)
			continue
		}
		m := callLine.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if args, ok := strings.CutSuffix(m[3], " <unfinished ...>"); ok {
			open[m[1]] = begun{n, args}
			continue
		}
		tr.add(m[2], m[3], n, n)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return tr
}

// add adds a system call with its arguments and result.
func (tr *trace) add(name, text string, begin, end int) {
	path := ""
	if m := fdPath.FindStringSubmatch(text); m != nil {
		path = m[1]
	}
	switch {
	case name == "openat":
		m := openedPath.FindStringSubmatch(text)
		if m != nil && strings.HasSuffix(m[1], ".blk") && strings.Contains(m[1], "/streams/SESS_") && strings.Contains(text, "O_CREAT") && tr.created[m[1]] == 0 {
			tr.created[m[1]] = end
		}
	case name == "fsync":
		if strings.HasSuffix(text, "= 0") {
			tr.syncs[path] = append(tr.syncs[path], call{path, begin, end})
		}
	case strings.HasSuffix(path, ".blk"):
		if m := recordLine.FindStringSubmatch(text); m != nil {
			seq, chain := m[1]+m[4], m[2]+m[3]
			tr.written[seq+" "+chain] = call{path, begin, end}
		}
	default:
		if m := answerLine.FindStringSubmatch(text); m != nil && tr.answers[m[1]] == 0 {
			tr.answers[m[1]] = begin
		}
	}
}

// check returns an error unless the record of a cursor was flushed before its answer.
func (tr *trace) check(cursor string) error {
	answer := tr.answers[cursor]
	if answer == 0 {
		return errors.New("its answer was not traced")
	}
	seq, chain, _ := strings.Cut(cursor, "-")
	for of, w := range tr.written {
		n, full, _ := strings.Cut(of, " ")
		if n != seq || !strings.HasPrefix(full, chain) {
			continue
		}
		if !tr.flushed(w.path, w.end, answer) {
			return fmt.Errorf("written to %s at line %d, answered at line %d, and not flushed in between", w.path, w.end, answer)
		}
		if made := tr.created[w.path]; made != 0 && !tr.flushed(filepath.Dir(w.path), made, answer) {
			return fmt.Errorf("its block %s was made at line %d, answered at line %d, and its name was not flushed", w.path, made, answer)
		}
		return nil
	}
	return errors.New("its write was not traced")
}

// flushed reports whether a flush of path began after one line and ended before another.
func (tr *trace) flushed(path string, after, before int) bool {
	for _, s := range tr.syncs[path] {
		if s.begin > after && s.end < before {
			return true
		}
	}
	return false
}

func (tr *trace) flushes() (n int) {
	for path, calls := range tr.syncs {
		if strings.HasSuffix(path, ".blk") {
			n += len(calls)
		}
	}
	return n
}
