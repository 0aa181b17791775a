package follow_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
)

// A session says that its file is gone, where, and once: also where the answer to
// that was lost, or the follower was away when it happened or begins anew.
func TestADeletedFileIsOnRecordOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	data := text(header, said("a", "", "one"))
	gone := func() (n int) {
		for _, why := range notes(t, s.node, sessionID) {
			if strings.HasPrefix(why, s.path+" on here is gone") {
				n++
			}
		}
		return n
	}
	write(t, s.path, data)
	s.flush(t)
	stop := s.run(t)
	s.line.lose.Store(1)
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	until(t, "being told", func() bool { return s.told.count(follow.FileRemoved) == 1 })
	if n := gone(); n != 1 {
		t.Errorf("the session says it %d times: %q", n, notes(t, s.node, sessionID))
	}
	stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s.open(t)
	s.run(t)
	write(t, s.path, data) // it comes back, goes on, and goes again
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "the line", func() bool { return headAt(t, s.node, "main") == "b" })
	if n := gone(); n != 1 {
		t.Errorf("after a new beginning the session says it %d times", n)
	}
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	until(t, "being told again", func() bool { return s.told.count(follow.FileRemoved) == 2 })
	if n := gone(); n != 2 {
		t.Errorf("of two deletions the session says %q", notes(t, s.node, sessionID))
	}
	s.inLog(t, data+said("b", "a", "two")+"\n")
}

// What is deleted while no follower runs is on record when one does.
func TestAFileThatWentWhileNobodyLookedIsOnRecord(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one")))
	s.flush(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	s.run(t)
	until(t, "being told", func() bool { return s.told.count(follow.FileRemoved) == 1 })
	if n := notes(t, s.node, sessionID); len(n) != 1 || !strings.Contains(n[0], "is gone") {
		t.Errorf("the session says %q", n)
	}
}

// That a file is gone is on record also where others write to its session all the
// while.
func TestADeletedFileIsOnRecordAlthoughOthersWrite(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one")))
	s.flush(t)
	tried, last := 0, "a"
	others := func(r *http.Request) {
		if r.Method != http.MethodPut || tried == 12 {
			return
		}
		tried++
		next := fmt.Sprint("x", tried)
		if _, err := s.node.Append(t.Context(), sessionID, []byte(said(next, last, "elsewhere")), api.AppendOptions{}); err != nil {
			t.Error(err)
		}
		last = next
	}
	s.line.before.Store(&others)
	s.run(t)
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	until(t, "being told", func() bool { return s.told.count(follow.FileRemoved) == 1 })
	if n := notes(t, s.node, sessionID); len(n) != 1 || !strings.Contains(n[0], "is gone") {
		t.Errorf("after %d tries the session says %q", tried, n)
	}
	if s.told.count(follow.Away) > 0 {
		t.Error(s.told.first(follow.Away))
	}
}

// A file whose time lies in the future is brought in as any other.
func TestAFileFromTheFutureHoldsNothingUp(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	all := text(header, said("a", "", "one"), said("b", "a", "two"))
	write(t, s.path, all)
	s.flush(t)
	write(t, s.path, text(header, said("a", "", "one")))
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(s.path, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	s.flush(t)
	s.inLog(t, all)
	if at := headAt(t, s.node, "main"); at != "a" {
		t.Errorf("main stands at %s", at)
	}
}

// Flush ends when its context does, also while a worker waits for a node that takes
// requests and answers none; and no request waits for ever.
func TestANodeThatHangsHoldsNoFlushUp(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one")))
	s.flush(t)
	s.line.hang.Store(true)
	stop := s.run(t)
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "a request with an end", func() bool { return s.line.hung.Load() > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("flush: %v", err)
	}
	stop()
	s.line.hang.Store(false)
	s.flush(t)
	s.inLog(t, text(header, said("a", "", "one"), said("b", "a", "two")))
}
