package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

func TestKillKeepsAcknowledgedAppends(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: 60, Images: 6})
	id := importFile(t, node.Client(), file)
	cl := node.Client()
	callers := gather(t, id, 8, func() *client.Client { return cl })

	before := file.Bytes
	for round := range often(6) {
		callers.await(20 + rand.Int64N(100))
		began := time.Now()
		acked := callers.said()
		node.Kill() // with up to eight appends under way
		node.Start(t)
		export := harness.Export(t, cl, id)
		if !bytes.HasPrefix(export, before) {
			sameBytes(t, "what was there before the kill", export[:min(len(export), len(before))], before)
		}
		allThere(t, export, acked)
		intact(t, cl, id)
		before = export
		t.Logf("kill %d: %d acknowledged by then, ready again in %v, all checked after %v",
			round+1, len(acked), node.ReadyIn.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	}
	callers.await(20)
	callers.leave()

	export := harness.Export(t, cl, id)
	if !bytes.HasPrefix(export, before) {
		t.Error("an earlier export is not a prefix of the later one")
	}
	acked := callers.said()
	allThere(t, export, acked)
	if have, want := len(entriesOf(t, export)), len(file.IDs)+len(acked); have != want {
		t.Errorf("%d entries, want %d: an unacknowledged entry was stored, or one was stored twice", have, want)
	}
	report := intact(t, cl, id)
	if callers.Unanswered.Load() == 0 {
		t.Error("every append was answered: the kills came at the wrong time")
	}
	for _, line := range node.Complaints() {
		t.Errorf("the node logged: %s", line)
	}
	t.Logf("%d appends acknowledged in %d records; %d requests without an answer, of which %d had been stored",
		len(acked), report.Records, callers.Unanswered.Load(), callers.Again.Load())
}

// A drip is a file that is sent up to a limit.
type drip struct {
	rest []byte
	gate chan int // how many more bytes are allowed
	open int
	sent atomic.Int64
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	for d.open == 0 {
		n, ok := <-d.gate
		if !ok {
			d.open = len(d.rest)
			break
		}
		d.open = n
	}
	n := copy(p, d.rest[:min(len(d.rest), d.open)])
	d.rest, d.open = d.rest[n:], d.open-n
	d.sent.Add(int64(n))
	return n, nil
}

// await returns once n bytes were sent.
func (d *drip) await(t *testing.T, n int) {
	t.Helper()
	harness.Await(t, "the body is sent", func() error {
		if have := d.sent.Load(); have < int64(n) {
			return fmt.Errorf("%d of %d bytes", have, n)
		}
		return nil
	})
}

func TestKilledImportIsAllOrNothing(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	file := harness.NewFile(t, harness.Shape{Turns: often(150), Images: 120, ImageBytes: 40_000, Words: 60})
	// Each time the node is killed a little later: while the file arrives, while its
	// images are stored, and when all are stored.
	moments := []struct {
		name  string
		sent  int // bytes of the file
		blobs int
	}{
		{"half of the file sent", len(file.Bytes) / 2, 0},
		{"the file sent", len(file.Bytes), 0},
		{"the first image stored", len(file.Bytes), 1},
		{"half of the images stored", len(file.Bytes), 60},
		{"all images stored", len(file.Bytes), 120},
		{"all that becomes a blob stored", len(file.Bytes), 121},
	}
	whole := 0
	for _, m := range moments {
		began := time.Now()
		answered := killDuringImport(t, node, file, m.sent, m.blobs)
		there := wholeOrAbsent(t, node.Client(), file)
		if answered && !there {
			t.Errorf("%s: the import was acknowledged, but the session does not exist", m.name)
		}
		t.Logf("%s: killed; answered %v, there %v, %v", m.name, answered, there, time.Since(began).Round(time.Millisecond))
		if there {
			whole++
		}
	}
	c := node.Client()
	done, err := c.Import(harness.Timeout(t), bytes.NewReader(file.Bytes), int64(len(file.Bytes)), client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if done.Created == (whole > 0) || whole > 0 && done.Entries != 0 {
		t.Errorf("the last import: %+v; the session existed before: %v", done, whole > 0)
	}
	sameBytes(t, "export", harness.Export(t, c, file.ID), file.Bytes)
	if r := intact(t, c, file.ID); r.Blobs != 120 {
		t.Errorf("verify has read %d blobs, want 120", r.Blobs)
	}
}

// killDuringImport kills the node once that many bytes are sent and that many blobs
// are stored, restarts it, and returns whether the import was acknowledged.
func killDuringImport(t *testing.T, node *harness.Node, f *harness.File, sent, blobs int) (answered bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := &drip{rest: f.Bytes, gate: make(chan int, 1)}
	body.gate <- sent
	over := make(chan error, 1)
	cl := node.Client()
	go func() {
		_, err := cl.Import(ctx, body, int64(len(f.Bytes)), client.ImportOptions{})
		over <- err
	}()
	harness.Await(t, fmt.Sprintf("%d bytes sent and %d blobs stored", sent, blobs), func() error {
		select {
		case err := <-over:
			over <- err
			return nil // the answer was sent first
		default:
		}
		if have := body.sent.Load(); have < int64(sent) {
			return fmt.Errorf("%d bytes are sent", have)
		}
		if have := countBlobs(t, node); have < blobs {
			return fmt.Errorf("%d blobs are stored", have)
		}
		return nil
	})
	node.Kill()
	close(body.gate)
	err := <-over
	node.Start(t)
	return err == nil
}

func countBlobs(t *testing.T, node *harness.Node) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(filepath.Join(node.Data, "blobs", "blobs", "sha256"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && len(d.Name()) == 64 {
			n++
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// wholeOrAbsent reports whether the session exists. It fails the test if the session
// is incomplete.
func wholeOrAbsent(t *testing.T, c *client.Client, f *harness.File) bool {
	t.Helper()
	_, err := c.Info(harness.Timeout(t), f.ID)
	if errors.Is(err, core.ErrNotFound) {
		list, err := c.List(harness.Timeout(t), catalog.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Sessions) != 0 {
			t.Errorf("the session does not exist, but is listed: %+v", list.Sessions)
		}
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "export after the kill", harness.Export(t, c, f.ID), f.Bytes)
	intact(t, c, f.ID)
	return true
}
