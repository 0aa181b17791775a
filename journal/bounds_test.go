package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/journal"
	"github.com/sesslog/sesslog/session"
)

// The journal's disk has a bound, however many sessions it meets.
func TestManySessionsTakeNoMoreThanTheirBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.j.Close())
	const most = 40_000
	j := openJournal(t, w.dir, journal.Options{Max: most})
	defer j.Close()
	l := journal.New(w.line, j, journal.Config{Logger: quiet})
	pinned := sessionOf(0)
	for i := range 40 {
		n := newSession()
		n.ID, n.Key = sessionOf(i), fmt.Sprint(i)
		n.Header = bytes.ReplaceAll(n.Header, []byte(id), []byte(n.ID))
		must(t, first(w.log.Create(t.Context(), n)))
		must(t, first(l.Load(t.Context(), n.ID)))
		for range 3 {
			must(t, first(l.Append(t.Context(), n.ID, session.Writing{}, [][]byte{bare(strings.Repeat("x", 1000))})))
		}
		must(t, first(l.Load(t.Context(), n.ID)))
		if n.ID == pinned {
			w.line.set(true)
			must(t, first(l.Append(t.Context(), pinned, session.Writing{}, [][]byte{bare("waits")})))
			w.line.set(false)
		}
	}
	stored := 0
	for _, s := range j.Sessions() {
		stored += s.Stored
	}
	if stored == 0 || stored*1000 > most {
		t.Errorf("%d appends of 1000 bytes are remembered", stored)
	}
	var copies int64
	for _, path := range glob(t, w.dir, "*.copy") {
		info, err := os.Stat(path)
		must(t, err)
		copies += info.Size()
	}
	if copies == 0 || copies > most {
		t.Errorf("copies take %d bytes", copies)
	}
	// What is needed is there, what is not is said.
	w.line.set(true)
	must(t, first(l.Load(t.Context(), pinned)))
	must(t, first(l.Load(t.Context(), sessionOf(39))))
	_, err := l.Load(t.Context(), sessionOf(1))
	wantErr(t, err, core.ErrUnavailable)
	if err == nil || !strings.Contains(err.Error(), "no copy of it") {
		t.Errorf("%v", err)
	}
}

func sessionOf(i int) core.SessionID { return core.SessionID(fmt.Sprintf("session-%03d", i)) }

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	must(t, err)
	return paths
}

func TestWhatAKilledProcessLeftUnfinishedIsCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	left := filepath.Join(w.dir, string(id)+".copy.tmp")
	must(t, os.WriteFile(left, []byte("half"), 0o600))
	w.open()
	if got := glob(t, w.dir, "*.tmp"); len(got) > 0 {
		t.Errorf("%v are still there", got)
	}
}

// Whoever has no time left for the log has its lines kept all the same.
func TestLinesAreKeptWhenTheTimeForTheLogIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	w.append(session.Writing{}, bare("a"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	w.line.set(true)
	for i := range 50 { // that it is no matter of luck
		rec, err := w.Append(over, id, session.Writing{}, [][]byte{bare(fmt.Sprint(i))})
		if err != nil || rec.Kept != 1 {
			t.Fatalf("%+v %v", rec, err)
		}
	}
	w.line.set(false)
	if sent := w.send(); sent.Lines != 50 {
		t.Errorf("%+v", sent)
	}
}
