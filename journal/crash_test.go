package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/journal"
	"github.com/sesslog/sesslog/session"
)

// writerEnv has this test binary be a writer whose log is away.
const writerEnv = "JOURNAL_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writeForEver(dir)
	}
	os.Exit(m.Run())
}

// writeForEver appends and says of each what was kept.
func writeForEver(dir string) {
	ctx := context.Background()
	j, err := journal.Open(ctx, dir, journal.Options{})
	if err != nil {
		panic(err)
	}
	l := journal.New(&line{Log: logOn(memlog.New("none")), down: true}, j, journal.Config{Logger: quiet})
	for i := 0; ; i++ {
		text := fmt.Sprintf("%d-%d", os.Getpid(), i)
		if _, err := l.Append(ctx, id, session.Writing{}, [][]byte{bare(text)}); err != nil {
			panic(err)
		}
		fmt.Println(text)
	}
}

func TestWhatWasKeptOutlivesKillNine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	must(t, w.j.Close())
	var said []string
	for round := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+w.dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		var heard strings.Builder
		buf := make([]byte, 256)
		for strings.Count(heard.String(), "\n") < 10+7*round {
			n, err := out.Read(buf)
			must(t, err)
			heard.Write(buf[:n])
		}
		must(t, cmd.Process.Kill())
		for {
			n, err := out.Read(buf)
			heard.Write(buf[:n])
			if err != nil {
				break
			}
		}
		_ = cmd.Wait()
		lines := strings.Split(heard.String(), "\n")
		said = append(said, lines[:len(lines)-1]...)
	}
	w.open()
	w.send()
	have := path(t, w.log, "main")[1:]
	for _, text := range said {
		for len(have) > 0 && have[0] != text {
			have = have[1:] // kept, and killed before it could say so
		}
		if len(have) == 0 {
			t.Fatalf("%s was kept and is not there, or not in its place", text)
		}
		have = have[1:]
	}
}

// A file that ends at any byte has all entries that were whole by then, and can
// be written on.
func TestFileCutAtAnyByteKeepsWhatWasWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.line.set(true)
	file := filepath.Join(w.dir, string(id)+".journal")
	var ends []int64
	for _, text := range []string{"a", "b", "c"} {
		w.append(session.Writing{}, bare(text))
		info, err := os.Stat(file)
		must(t, err)
		ends = append(ends, info.Size())
	}
	must(t, w.j.Close())
	data, err := os.ReadFile(file)
	must(t, err)
	for cut := range data {
		for _, tail := range []string{"", strings.Repeat("\x00", 30)} {
			whole := 0
			for _, end := range ends {
				if int64(cut) >= end {
					whole++
				}
			}
			if tail != "" && cut < 8 {
				continue
			}
			must(t, os.WriteFile(file, append(data[:cut:cut], tail...), 0o600))
			j := openJournal(t, w.dir, journal.Options{})
			l := journal.New(w.line, j, journal.Config{Logger: quiet})
			_, err := l.Append(t.Context(), id, session.Writing{}, [][]byte{bare("more")})
			s := j.Sessions()
			if tail != "" && errors.Is(err, core.ErrCorrupt) { // the zeros are in the midst of a frame
				must(t, j.Close())
				continue
			}
			must(t, err)
			if len(s) != 1 || s[0].Entries != whole+1 {
				t.Fatalf("cut at %d with %q: %+v, want %d", cut, tail, s, whole+1)
			}
			must(t, j.Close())
		}
	}
}

func TestDamageIsNamedAndNothingIsGuessed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	w.line.set(true)
	w.append(session.Writing{}, bare("a"))
	w.append(session.Writing{}, bare("b"))
	must(t, w.j.Close())
	file := filepath.Join(w.dir, string(id)+".journal")
	data, err := os.ReadFile(file)
	must(t, err)
	w.line.set(false)
	for at := range data {
		bad := append([]byte(nil), data...)
		bad[at] ^= 0x10
		must(t, os.WriteFile(file, bad, 0o600))
		j := openJournal(t, w.dir, journal.Options{})
		l := journal.New(w.line, j, journal.Config{Logger: quiet})
		_, err := l.Send(t.Context(), id)
		wantErr(t, err, core.ErrCorrupt)
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Fatalf("byte %d: %v", at, err)
		}
		_, err = l.Append(t.Context(), id, session.Writing{}, [][]byte{bare("c")})
		wantErr(t, err, core.ErrCorrupt)
		must(t, j.Close())
		after, err := os.ReadFile(file)
		must(t, err)
		if string(after) != string(bad) {
			t.Fatalf("byte %d: the evidence was changed", at)
		}
	}
	equal(t, "main", []string{"first"}, path(t, w.log, "main"))
}

func TestOneProcessHasAJournalAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := journal.Open(ctx, w.dir, journal.Options{})
	wantErr(t, err, core.ErrUnavailable)
	must(t, w.j.Close())
	must(t, w.j.Close())
	must(t, openJournal(t, w.dir, journal.Options{}).Close())
	_, err = w.Append(t.Context(), id, session.Writing{}, [][]byte{bare("a")})
	wantErr(t, err, core.ErrUnavailable)
}

func TestFullJournalRefusesAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create()
	must(t, w.j.Close())
	j := openJournal(t, w.dir, journal.Options{Max: 20_000})
	defer j.Close()
	l := journal.New(w.line, j, journal.Config{Logger: quiet})
	must(t, first(l.Load(t.Context(), id)))
	w.line.set(true)
	kept := 0
	var err error
	for err == nil {
		if _, err = l.Append(t.Context(), id, session.Writing{}, [][]byte{bare(strings.Repeat("x", 1000))}); err == nil {
			kept++
		}
	}
	wantErr(t, err, core.ErrFull)
	w.line.set(false)
	must(t, first(l.Send(t.Context(), id)))
	for range 500 { // what was stored gives way: the file stays small
		must(t, first(l.Append(t.Context(), id, session.Writing{}, [][]byte{bare(strings.Repeat("y", 1000))})))
	}
	if n := len(w.has().Entries()); n != 1+kept+500 || kept < 10 {
		t.Errorf("%d entries, %d were kept", n, kept)
	}
	info, err := os.Stat(filepath.Join(w.dir, string(id)+".journal"))
	must(t, err)
	if info.Size() > 100_000 {
		t.Errorf("the file has %d bytes", info.Size())
	}
}
