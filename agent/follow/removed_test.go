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
	"github.com/sesslog/sesslog/api/client"
)

func TestRecordsRemovedFileOnce(t *testing.T) {
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
	until(t, "the notice", func() bool { return s.told.count(follow.FileRemoved) == 1 })
	if n := gone(); n != 1 {
		t.Errorf("%d notes, want 1: %q", n, notes(t, s.node, sessionID))
	}
	stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s.open(t)
	s.run(t)
	write(t, s.path, data) // it returns, grows, and is removed again
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "the line", func() bool { return headAt(t, s.node, "main") == "b" })
	if n := gone(); n != 1 {
		t.Errorf("after a restart: %d notes", n)
	}
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	until(t, "the second notice", func() bool { return s.told.count(follow.FileRemoved) == 2 })
	if n := gone(); n != 2 {
		t.Errorf("after two removals the notes are %q", notes(t, s.node, sessionID))
	}
	s.inLog(t, data+said("b", "a", "two")+"\n")
}

func TestRecordsFileRemovedWhileNotRunning(t *testing.T) {
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
	until(t, "the notice", func() bool { return s.told.count(follow.FileRemoved) == 1 })
	if n := notes(t, s.node, sessionID); len(n) != 1 || !strings.Contains(n[0], "is gone") {
		t.Errorf("the notes are %q", n)
	}
}

func TestRecordsRemovedFileOfBusySession(t *testing.T) {
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
		if _, err := s.node.Append(t.Context(), sessionID, []byte(said(next, last, "elsewhere")), client.AppendOptions{}); err != nil {
			t.Error(err)
		}
		last = next
	}
	s.line.before.Store(&others)
	s.run(t)
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	until(t, "the notice", func() bool { return s.told.count(follow.FileRemoved) == 1 })
	if n := notes(t, s.node, sessionID); len(n) != 1 || !strings.Contains(n[0], "is gone") {
		t.Errorf("after %d attempts the notes are %q", tried, n)
	}
	if s.told.count(follow.Away) > 0 {
		t.Error(s.told.first(follow.Away))
	}
}

func TestFollowsFileModifiedInTheFuture(t *testing.T) {
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
		t.Errorf("main points to %s", at)
	}
}

// Flush ends with its context, also while a worker waits for a node that accepts
// requests and does not answer; and every request has a deadline.
func TestFlushEndsWhileNodeHangs(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one")))
	s.flush(t)
	s.line.hang.Store(true)
	stop := s.run(t)
	add(t, s.path, said("b", "a", "two")+"\n")
	until(t, "a request with a deadline", func() bool { return s.line.hung.Load() > 0 })
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
