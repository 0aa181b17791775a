//go:build unix

package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// restored is a node whose streams are replaced by an older copy, and another node
// that writes through it and keeps running.
type restored struct {
	keeper, writer *harness.Node
	copy           string
}

func newRestored(t *testing.T) *restored {
	t.Helper()
	bucket := harness.StartBucket(t)
	addr := testkit.FreeAddrs(t, 1)[0]
	r := &restored{copy: filepath.Join(t.TempDir(), "copy")}
	r.keeper = harness.StartNode(t, append(bucket.Args(), "--nats-listen", addr, "--node", "keeper")...)
	r.writer = harness.StartNode(t, append(bucket.Args(), "--nats-url", "nats://"+addr, "--node", "writer")...)
	return r
}

func (r *restored) streams() string { return filepath.Join(r.keeper.Data, "nats") }

// takeCopy stops the keeper and copies its streams.
func (r *restored) takeCopy(t *testing.T) {
	t.Helper()
	r.keeper.Kill()
	if err := os.CopyFS(r.copy, os.DirFS(r.streams())); err != nil {
		t.Fatal(err)
	}
	r.keeper.Start(t)
}

// restore replaces the streams with the copy.
func (r *restored) restore(t *testing.T) {
	t.Helper()
	r.keeper.Kill()
	if err := os.RemoveAll(r.streams()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.copy, r.streams()); err != nil {
		t.Fatal(err)
	}
	r.keeper.Start(t)
}

// fill appends n messages through c. It retries each until it succeeds.
func fill(t *testing.T, c *client.Client, id, words string, n int) []string {
	t.Helper()
	var all []string
	for i := range n {
		said := fmt.Sprintf("%s %d.", words, i)
		say(t, c, id, said, client.AppendOptions{Key: said})
		all = append(all, said)
	}
	return all
}

// allThere fails the test unless the file contains each of words exactly once.
func allThere(t *testing.T, who string, file []byte, words []string) {
	t.Helper()
	for _, w := range words {
		if n := bytes.Count(file, []byte(w)); n != 1 {
			t.Errorf("%s: %q is there %d times", who, w, n)
		}
	}
}

// A node that still has the records that the log lost stores them again.
func TestLostTailIsRepairedByNodeThatHasIt(t *testing.T) {
	t.Parallel()
	r := newRestored(t)
	c := r.writer.Client()
	id := newSession(t, c)
	words := fill(t, c, id, "before the copy", 5)
	r.takeCopy(t)
	words = append(words, fill(t, c, id, "behind the copy", 5)...)
	before := mustExport(t, c, id)
	r.restore(t)

	words = append(words, fill(t, c, id, "behind the loss", 5)...)
	for _, n := range []*harness.Node{r.writer, r.keeper} {
		got := mustExport(t, n.Client(), id)
		if !bytes.HasPrefix(got, before) {
			t.Error("the export does not begin with what was acknowledged")
		}
		allThere(t, "after the restore", got, words)
		intact(t, n.Client(), id)
	}
	if !strings.Contains(r.writer.Log(), "they were stored again") {
		t.Error("the node that repaired the loss did not log it")
	}
	f := figures{operations: len(words), acked: len(words)}
	f.fault("older copy put back")
	f.report(t)
}

// If another writer has continued from the older copy, its records stay unchanged and
// the lost lines go to a separate head.
func TestLostTailGoesToSeparateHeadIfWritersDiverged(t *testing.T) {
	t.Parallel()
	r := newRestored(t)
	c, k := r.writer.Client(), r.keeper.Client()
	id := newSession(t, c)
	words := fill(t, c, id, "before the copy", 3)
	r.takeCopy(t)
	words = append(words, fill(t, c, id, "behind the copy", 3)...)
	r.writer.Pause() // it does not see the next records
	r.restore(t)
	goOn(t, k, id, "went on 0.") // which fill repeats
	words = append(words, fill(t, k, id, "went on", 3)...)
	r.writer.Continue()

	words = append(words, fill(t, c, id, "the writer again", 1)...)
	harness.Await(t, "both nodes show all of it", func() error {
		for _, n := range []*harness.Node{r.writer, r.keeper} {
			got, err := export(t, n.Client(), id)
			if err != nil {
				return err
			}
			for _, w := range words {
				if count := bytes.Count(got, []byte(w)); count != 1 {
					return fmt.Errorf("%q is there %d times", w, count)
				}
			}
		}
		return nil
	})
	info, err := k.Info(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Log.Heads) < 2 {
		t.Errorf("heads: %+v; the lost lines have no separate head", info.Log.Heads)
	}
	// A record may be stored at the position of a lost one: that is corruption of the
	// lower layer, and verify must report it. Rows that name lost records are replaced
	// after a few seconds.
	harness.Await(t, "verify finds strays alone", func() error {
		for _, p := range problems(t, k, id) {
			if p.Kind != "stray" {
				return fmt.Errorf("%+v", p)
			}
		}
		return nil
	})
	f := figures{operations: len(words), acked: len(words)}
	f.fault("older copy put back")
	f.report(t)
}

// goOn appends words to a session. If a row of the node proves that the log has lost
// records of it, an operator accepts the loss first: the node cannot know that a paused
// one has them.
func goOn(t *testing.T, c *client.Client, id, words string) {
	t.Helper()
	harness.Await(t, "the session accepts writes", func() error {
		_, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", words)), client.AppendOptions{Key: words})
		if errors.Is(err, core.ErrCorrupt) {
			_, aerr := c.AcceptLoss(harness.Timeout(t), id)
			return errors.Join(err, aerr)
		}
		return err
	})
}

// If no node has the lost records, clients with a later cursor get an error.
func TestLostCursorIsRejected(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	r := &restored{keeper: node, copy: filepath.Join(t.TempDir(), "copy")}
	c := node.Client()
	id := newSession(t, c)
	fill(t, c, id, "before the copy", 3)
	kept := mustExport(t, c, id)
	r.takeCopy(t)
	later := say(t, c, id, "lost", client.AppendOptions{}).Cursor
	awaitRows(t, node, 5, id)
	r.restore(t)

	if got := mustExport(t, c, id); !bytes.Equal(got, kept) {
		t.Error("the export differs from the copy")
	}
	err := c.Follow(harness.Timeout(t), id, later, false, func(api.Event) error { return nil })
	if !errors.Is(err, core.ErrLost) {
		t.Errorf("follow after a lost cursor: %v", err)
	}
	if _, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", "behind it")), client.AppendOptions{After: later.String()}); err == nil {
		t.Error("an append after a lost cursor succeeded")
	}
	acceptLoss(t, c, id)
	say(t, c, id, "and on", client.AppendOptions{})
	intact(t, c, id)
}

// truncate appends garbage until the log drops the prefix of its only shard.
func truncate(t *testing.T, c *client.Client) {
	t.Helper()
	before, err := c.Status(harness.Timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	id := newSession(t, c)
	for i := range 40 {
		say(t, c, id, fmt.Sprintf("%d %s", i, strings.Repeat("rubbish ", 250)), client.AppendOptions{})
	}
	if _, err := c.Checkpoint(harness.Timeout(t), id); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the front of the log to go", func() error {
		st, err := c.Status(harness.Timeout(t))
		if err != nil {
			return err
		}
		// Each other session keeps a few records, and less than log.garbage of the
		// garbage stays.
		if n, had := st.Shards[0].Messages, before.Shards[0].Messages; n > had+15 {
			return fmt.Errorf("it has %d messages, and had %d", n, had)
		}
		return nil
	})
}

// insist appends words until the outcome is known. An append may time out or lose its
// connection while its node is paused or catches up. A retry with the same key then
// returns the reason.
func insist(t *testing.T, c *client.Client, id, words string, o client.AppendOptions) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*harness.WaitTimeout)
	defer cancel()
	o.Key = words
	line := []byte(harness.Message("user", words))
	for {
		_, err := c.Append(ctx, id, line, o)
		unknown := errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain)
		if !unknown || ctx.Err() != nil {
			return err
		}
	}
}

// A zombie is a process that was paused while others took over, wrote a checkpoint and
// dropped the records that it knew.
func TestZombieIsFencedWhenItContinues(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	addr := testkit.FreeAddrs(t, 1)[0]
	keeper := harness.StartNode(t, append(bucket.Args(), "--nats-listen", addr, "--node", "keeper", "--log-shards", "1", "--log-garbage", "16KiB")...)
	zombie := harness.StartNode(t, append(bucket.Args(), "--nats-url", "nats://"+addr, "--node", "zombie", "--log-garbage", "16KiB")...)
	c, k := zombie.Client(), keeper.Client()
	for round := range times(2) {
		id := newSession(t, k)
		claim, err := c.Claim(harness.Timeout(t), id, core.ClaimRequest{Agent: "zombie", Host: "asleep"})
		if err != nil {
			t.Fatal(err)
		}
		mine := client.AppendOptions{Writer: claim.Writer}
		say(t, c, id, "awake", mine)

		zombie.Pause()
		// These requests are sent now and answered when it continues.
		type answer struct {
			words string
			err   error
		}
		asleep := make(chan answer, 4)
		for i := range cap(asleep) {
			go func() {
				words := fmt.Sprintf("asleep %d.", i)
				asleep <- answer{words, insist(t, c, id, words, mine)}
			}()
		}
		taken, err := k.Claim(harness.Timeout(t), id, core.ClaimRequest{Agent: "next", TakeOver: true})
		if err != nil {
			t.Fatal(err)
		}
		next := client.AppendOptions{Writer: taken.Writer}
		say(t, k, id, "taken over", next)
		if round%2 == 0 {
			if _, err := k.Checkpoint(harness.Timeout(t), id); err != nil {
				t.Fatal(err)
			}
			truncate(t, k)
		}
		say(t, k, id, "behind it", next)
		want := mustExport(t, k, id)

		zombie.Continue()
		before, _, _ := bytes.Cut(want, []byte("taken over"))
		for range cap(asleep) {
			// A request that was sent just before the pause may precede the takeover.
			a := <-asleep
			early := bytes.Contains(before, []byte(a.words))
			if early && a.err != nil || !early && !errors.Is(a.err, core.ErrFenced) {
				t.Errorf("an append of a zombie, stored before the take-over: %v; answered: %v", early, a.err)
			}
		}
		err = insist(t, c, id, "still me", mine)
		if e, ok := errors.AsType[*client.Error](err); !ok || !errors.Is(err, core.ErrFenced) || e.Detail.Holder == nil || e.Detail.Holder.Writer != taken.Writer {
			t.Errorf("the error does not name the current holder: %v", err)
		}
		for _, n := range []*harness.Node{zombie, keeper} {
			if got := mustExport(t, n.Client(), id); !bytes.Equal(got, want) {
				t.Error("the zombie wrote after it was fenced")
			}
		}
		intact(t, k, id)
	}
}
