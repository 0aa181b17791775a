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

// A restored is a node with the streams, which are put back to an older copy,
// and another node that writes through it and goes on running.
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

// takeCopy stops the keeper for a copy of its streams.
func (r *restored) takeCopy(t *testing.T) {
	t.Helper()
	r.keeper.Kill()
	if err := os.CopyFS(r.copy, os.DirFS(r.streams())); err != nil {
		t.Fatal(err)
	}
	r.keeper.Start(t)
}

// restore puts the copy back.
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

// fill appends n messages through c, once it can.
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

// allThere fails the test unless each of words is in the session once.
func allThere(t *testing.T, who string, file []byte, words []string) {
	t.Helper()
	for _, w := range words {
		if n := bytes.Count(file, []byte(w)); n != 1 {
			t.Errorf("%s: %q is there %d times", who, w, n)
		}
	}
}

// Whoever still knows what the log lost puts it back.
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
			t.Error("what was acknowledged is not the beginning of what is there")
		}
		allThere(t, "after the restore", got, words)
		intact(t, n.Client(), id)
	}
	if !strings.Contains(r.writer.Log(), "put back") {
		t.Error("the loss is not in the log of who put it back")
	}
	f := figures{operations: len(words), acked: len(words)}
	f.fault("older copy put back")
	f.report(t)
}

// Where somebody has gone on meanwhile, nobody's lines are put between theirs:
// what was lost goes to a head of its own.
func TestLostTailGoesToSeparateHeadIfWritersDiverged(t *testing.T) {
	t.Parallel()
	r := newRestored(t)
	c, k := r.writer.Client(), r.keeper.Client()
	id := newSession(t, c)
	words := fill(t, c, id, "before the copy", 3)
	r.takeCopy(t)
	words = append(words, fill(t, c, id, "behind the copy", 3)...)
	r.writer.Pause() // it knows nothing of what comes
	r.restore(t)
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
		t.Errorf("heads: %+v; the lines that were lost have none of their own", info.Log.Heads)
	}
	// A record may have come to where another was meant: that is damage below us,
	// which nobody may hide.
	// Rows that speak of what was lost are made anew after a few seconds.
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

// Where nobody knows what was lost, those who hold a later cursor are told.
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
	r.restore(t)

	if got := mustExport(t, c, id); !bytes.Equal(got, kept) {
		t.Error("what is there is not what was copied")
	}
	err := c.Follow(harness.Timeout(t), id, later, false, func(api.Event) error { return nil })
	if !errors.Is(err, core.ErrLost) {
		t.Errorf("a follower with a cursor that was lost: %v", err)
	}
	if _, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", "behind it")), client.AppendOptions{After: later.String()}); err == nil {
		t.Error("an append behind what was lost is taken")
	}
	say(t, c, id, "and on", client.AppendOptions{})
	intact(t, c, id)
}

// truncate makes garbage until the one shard there is loses its front, and with it
// all that came before.
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
		// Of each session that is no rubbish a few records stay, and of the rubbish
		// what is less than log.garbage.
		if n, had := st.Shards[0].Messages, before.Shards[0].Messages; n > had+15 {
			return fmt.Errorf("it has %d messages, and had %d", n, had)
		}
		return nil
	})
}

// insist appends words until the node knows what to answer. The time of an append may
// run out, and its connection be given up, while its node sleeps or finds out what came
// meanwhile: who asks again, with the same key, hears why.
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

// A zombie is a process that slept while the world went on: others took over, wrote
// a checkpoint, and dropped the records that it knew.
func TestZombieIsFencedWhenItContinues(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	addr := testkit.FreeAddrs(t, 1)[0]
	keeper := harness.StartNode(t, append(bucket.Args(), "--nats-listen", addr, "--node", "keeper", "--log-shards", "1", "--log-garbage", "16KiB")...)
	zombie := harness.StartNode(t, append(bucket.Args(), "--nats-url", "nats://"+addr, "--node", "zombie", "--log-garbage", "16KiB")...)
	c, k := zombie.Client(), keeper.Client()
	for round := range times(2) {
		id := newSession(t, k)
		claim, err := c.Claim(harness.Timeout(t), id, api.ClaimRequest{Agent: "zombie", Host: "asleep"})
		if err != nil {
			t.Fatal(err)
		}
		mine := client.AppendOptions{Writer: claim.Writer}
		say(t, c, id, "awake", mine)

		zombie.Pause()
		// Its callers wait with it: these are sent, and answered when it wakes.
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
		taken, err := k.Claim(harness.Timeout(t), id, api.ClaimRequest{Agent: "next", TakeOver: true})
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
			// What went out while it fell asleep may have come before the take-over.
			a := <-asleep
			early := bytes.Contains(before, []byte(a.words))
			if early && a.err != nil || !early && !errors.Is(a.err, core.ErrFenced) {
				t.Errorf("an append of a zombie, stored before the take-over: %v; answered: %v", early, a.err)
			}
		}
		err = insist(t, c, id, "still me", mine)
		if e, ok := errors.AsType[*client.Error](err); !ok || !errors.Is(err, core.ErrFenced) || e.Detail.Holder == nil || e.Detail.Holder.Writer != taken.Writer {
			t.Errorf("the zombie is not told by whom it was fenced: %v", err)
		}
		for _, n := range []*harness.Node{zombie, keeper} {
			if got := mustExport(t, n.Client(), id); !bytes.Equal(got, want) {
				t.Error("the zombie has written")
			}
		}
		intact(t, k, id)
	}
}
