package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/journal"
	"github.com/sesslog/sesslog/session"
)

// fullEnv has this test binary be a writer for whose files there is no room at
// first.
const fullEnv = "JOURNAL_TEST_FULL"

func init() {
	if dir := os.Getenv(fullEnv); dir != "" {
		fillUp(dir)
		os.Exit(0)
	}
}

// fillUp appends while files may have no more than so many bytes, and once more
// when they may, and says what was kept.
func fillUp(dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	for room := range uint64(60) {
		j, err := journal.Open(ctx, filepath.Join(dir, fmt.Sprint(room)), journal.Options{})
		if err != nil {
			panic(err)
		}
		l := journal.New(&line{Log: logOn(memlog.New("none")), down: true}, j, journal.Config{Logger: quiet})
		say := func(text string) {
			if _, err := l.Append(ctx, id, session.Writing{}, [][]byte{bare(text)}); err == nil {
				fmt.Println(room, text)
			} else if !errors.Is(err, core.ErrFull) {
				panic(err)
			}
		}
		limit(room * 8)
		say("a")
		say("b")
		limit(1 << 30)
		say("c")
		// No Close: it ends as if it were killed, with the lock.
	}
}

func limit(n uint64) {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: 1 << 62}); err != nil {
		panic(err)
	}
}

// What is refused for want of room leaves nothing behind that would harm what is
// kept once there is room again, wherever the room ended.
func TestAFullDiskRefusesAndHarmsNothingThatIsKeptLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fullEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		room, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[room] = append(said[room], text)
	}
	for room := range 60 {
		name := fmt.Sprint(room)
		if !slices.Contains(said[name], "c") {
			t.Fatalf("with room for %d bytes: %v", room*8, said[name])
		}
		j := openJournal(t, filepath.Join(dir, name), journal.Options{})
		for _, w := range j.Sessions() {
			if w.Err != nil || w.Lines != len(said[name]) {
				t.Errorf("with room for %d bytes: %+v, said %v", room*8, w, said[name])
			}
		}
		must(t, j.Close())
	}
}
