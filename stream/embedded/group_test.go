package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/stream/embedded"
)

func group(dir string) embedded.Config {
	return embedded.Config{Dir: dir, GroupCommit: true, Logger: quiet}
}

func durable(t *testing.T, s *embedded.Server, stream string, pos uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := s.Durable(ctx, stream, pos); err != nil {
		t.Fatal(err)
	}
}

// publishLarge stores n messages of 100 KiB and returns the last position.
func publishLarge(t *testing.T, s *embedded.Server, n int) (pos uint64) {
	t.Helper()
	js := jetStream(t, s)
	for range n {
		ack, err := js.Publish(t.Context(), "s.x", largeBody)
		if err != nil {
			t.Fatal(err)
		}
		pos = ack.Sequence
	}
	return pos
}

// filled starts a server in dir, with n messages in the stream S that are durable, and
// returns the last position.
func filled(t *testing.T, dir string, n int) (*embedded.Server, uint64) {
	t.Helper()
	s := start(t, group(dir))
	makeStream(t, s, "S", 1)
	last := publishLarge(t, s, n)
	durable(t, s, "S", last)
	return s, last
}

func purge(t *testing.T, s *embedded.Server, opts ...jetstream.StreamPurgeOpt) {
	t.Helper()
	st, err := jetStream(t, s).Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Purge(t.Context(), opts...); err != nil {
		t.Fatal(err)
	}
}

var largeBody = []byte(strings.Repeat("x", 100<<10))

// copyRunning copies the files of a running server as a power cut would leave them if
// everything was on disk. Links stay links.
func copyRunning(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", dir, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

func blocks(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "jetstream", "$G", "streams", "S", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// wantMessages starts a server on dir and fails the test unless it has the messages
// from first to last.
func wantMessages(t *testing.T, dir string, first, last uint64) {
	t.Helper()
	s := start(t, group(dir))
	state := streamInfo(t, s, "S").State
	if state.FirstSeq > first || state.LastSeq < last {
		t.Fatalf("the stream has %d to %d, want %d to %d", state.FirstSeq, state.LastSeq, first, last)
	}
	for seq := first; seq <= last; seq++ {
		if got := message(t, s, "S", seq); got != string(largeBody) {
			t.Fatalf("message %d has %d bytes", seq, len(got))
		}
	}
	publish(t, s, "s.x", "more")
}

func TestGroupCommitServesManyStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, group(dir))
	var wg sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprintf("T%d", i)
		makeStream(t, s, name, 1)
		for range 8 {
			wg.Go(func() {
				js := jetStream(t, s)
				for range 20 {
					ack, err := js.Publish(t.Context(), strings.ToLower(name)+".x", []byte("x"))
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.Durable(t.Context(), name, ack.Sequence); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	closed(t, s)
	s = start(t, group(dir))
	for i := range 4 {
		if n := streamInfo(t, s, fmt.Sprintf("T%d", i)).State.Msgs; n != 160 {
			t.Errorf("stream %d has %d messages", i, n)
		}
	}
}

// A purge replaces the block that it shortens, by a file that is not flushed.
func TestReplacedBlockIsRestoredAfterPowerCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := group(dir)
	var held atomic.Bool
	release := make(chan struct{})
	cfg.SyncWith(func(f *os.File) error {
		if held.Load() {
			<-release
		}
		return f.Sync()
	})
	s := start(t, cfg)
	t.Cleanup(func() { close(release) })
	makeStream(t, s, "S", 1)
	last := publishLarge(t, s, 50)
	durable(t, s, "S", last)
	held.Store(true)
	before, err := os.Stat(blocks(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	purge(t, s, jetstream.WithPurgeSequence(40))
	after, err := os.Stat(blocks(t, dir)[0])
	if err != nil || os.SameFile(before, after) {
		t.Fatalf("the purge did not replace the block (%v)", err)
	}
	cut := copyRunning(t, dir)
	if err := os.Truncate(blocks(t, cut)[0], 0); err != nil { // the rename survived, the content did not
		t.Fatal(err)
	}
	wantMessages(t, cut, 40, last)
}

func TestFlushCoversRotatedBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := group(dir)
	var mu sync.Mutex
	flushed := map[string]int64{} // size by path
	cfg.SyncWith(func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		flushed[f.Name()] = max(flushed[f.Name()], info.Size())
		return f.Sync()
	})
	s := start(t, cfg)
	makeStream(t, s, "S", 1)
	durable(t, s, "S", publishLarge(t, s, 3))
	durable(t, s, "S", publishLarge(t, s, 200)) // several blocks of 8 MiB
	all := blocks(t, dir)
	if len(all) < 3 {
		t.Fatalf("%d blocks, want several", len(all))
	}
	mu.Lock()
	defer mu.Unlock()
	for _, b := range all {
		if info, err := os.Stat(b); err != nil || flushed[b] != info.Size() {
			t.Errorf("%s was flushed with %d bytes, and has %d (%v)", b, flushed[b], info.Size(), err)
		}
	}
	if flushed[filepath.Dir(all[0])] == 0 {
		t.Error("the names of the blocks were not flushed")
	}
}

func TestRotatedBlocksAreLinkedBeforeTheyAreDurable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := filled(t, dir, 3)
	last := publishLarge(t, s, 200) // several blocks of 8 MiB
	durable(t, s, "S", last)
	cut := copyRunning(t, dir)
	if n := len(blocks(t, cut)); n < 3 {
		t.Fatalf("%d blocks, want several", n)
	}
	for _, b := range blocks(t, cut) { // none of the names survived
		if err := os.Remove(b); err != nil {
			t.Fatal(err)
		}
	}
	wantMessages(t, cut, 1, last)
}

func TestDurablePurgeSurvivesPowerCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := filled(t, dir, 200)
	purge(t, s, jetstream.WithPurgeSequence(190))
	durable(t, s, "S", 0)
	cut := copyRunning(t, dir)
	s2 := start(t, group(cut))
	if first := streamInfo(t, s2, "S").State.FirstSeq; first != 190 {
		t.Errorf("the stream begins at %d, want 190", first)
	}
}

func TestEmptiedStreamKeepsItsLastSequence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, last := filled(t, dir, 3)
	purge(t, s)
	durable(t, s, "S", 0)
	s2 := start(t, group(copyRunning(t, dir)))
	if state := streamInfo(t, s2, "S").State; state.Msgs != 0 || state.LastSeq != last {
		t.Errorf("the stream is %+v, want none after %d", state, last)
	}
}

// Nothing was acknowledged for a stream whose creation was not flushed, and its settings
// may be incomplete.
func TestStreamThatWasNotFlushedIsMovedAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, group(dir))
	makeStream(t, s, "S", 1)
	cut := copyRunning(t, dir)
	if err := os.Truncate(filepath.Join(cut, "jetstream", "$G", "streams", "S", "meta.inf"), 0); err != nil {
		t.Fatal(err)
	}
	s2 := start(t, group(cut))
	if _, err := jetStream(t, s2).Stream(t.Context(), "S"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream: %v", err)
	}
	if _, err := os.Stat(filepath.Join(cut, "unflushed", "S")); err != nil {
		t.Error(err)
	}
}

func TestFailedFlushEndsService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := group(dir)
	broken := errors.New("input/output error")
	var fails atomic.Bool
	cfg.SyncWith(func(f *os.File) error {
		if fails.CompareAndSwap(true, false) { // a later fsync succeeds, as Linux has it
			return broken
		}
		return f.Sync()
	})
	s, err := embedded.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	makeStream(t, s, "S", 1)
	pos := publishLarge(t, s, 1)
	durable(t, s, "S", pos)
	fails.Store(true)
	lost := publishLarge(t, s, 1)
	for range 2 { // a retry does not help
		if err := s.Durable(t.Context(), "S", lost); !errors.Is(err, broken) || !strings.Contains(err.Error(), "restart the node") {
			t.Errorf("Durable: %v", err)
		}
	}
	if err := s.Durable(t.Context(), "OTHER", 1); !errors.Is(err, broken) {
		t.Errorf("Durable of another stream: %v", err)
	}
	if err := s.Check(); !errors.Is(err, broken) {
		t.Errorf("Check: %v", err)
	}
	if _, _, err := s.Capacity("S"); !errors.Is(err, broken) {
		t.Errorf("Capacity: %v", err)
	}
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("Close: %v", err)
	}
	wantMessages(t, dir, 1, pos)
}

func TestGroupCommitCanBeSwitchedOnAndOff(t *testing.T) {
	t.Parallel()
	always := embedded.Config{Dir: t.TempDir(), Logger: quiet}
	s := start(t, always)
	makeStream(t, s, "S", 1)
	publishLarge(t, s, 3)
	closed(t, s)

	s = start(t, group(always.Dir))
	pos := publishLarge(t, s, 3)
	durable(t, s, "S", pos)
	cut := copyRunning(t, always.Dir)
	closed(t, s)

	for _, b := range blocks(t, cut) {
		if err := os.Remove(b); err != nil {
			t.Fatal(err)
		}
	}
	always.Dir = cut // after a power cut
	s = start(t, always)
	if got := message(t, s, "S", pos); got != string(largeBody) {
		t.Errorf("message %d has %d bytes", pos, len(got))
	}
	if _, err := os.Stat(filepath.Join(cut, "flushed")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the links: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(cut, "node.json")); err != nil || !strings.Contains(string(text), `"version":1`) {
		t.Errorf("node.json is %s, %v", text, err)
	}
}
