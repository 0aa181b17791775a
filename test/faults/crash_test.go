package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// crashAt makes the test binary a child process that imports a file into a node's
// directory and checkpoints it, and kills itself at that step. There is a step before
// and after each object that is put and each record that is stored; a kill between two
// steps has the same result. (Package fsblob tests kills during a put.)
const (
	crashAt  = "FAULTS_TEST_CRASH_AT"
	crashDir = "FAULTS_TEST_CRASH_DIR"
)

// A step counts down to the step of the kill.
type step struct{ left int }

func (s *step) here() {
	if s.left--; s.left != 0 {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the kill
}

// A stepBucket is a Bucket whose puts are steps.
type stepBucket struct {
	blobstore.Bucket
	*step
}

func (b stepBucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	b.here()
	err := b.Bucket.Put(ctx, key, src, size)
	b.here()
	return err
}

// A stepLog is a Log whose appends are steps.
type stepLog struct {
	*stream.Log
	*step
}

func (l stepLog) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	l.here()
	pos, err := l.Log.Append(ctx, id, after, r)
	l.here()
	return pos, err
}

// crashFile is the imported file: it has images and is too large for one record.
func crashFile() *harness.File {
	return harness.Generate(1, harness.Shape{Turns: 12, Images: 1, Words: 2000})
}

// crashing runs in the child. It prints what it has done.
func crashing(dir, at string) error {
	ctx := context.Background()
	n, err := strconv.Atoi(at)
	if err != nil {
		return err
	}
	server, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dir, "nats")})
	if err != nil {
		return err
	}
	nc, err := server.Connect()
	if err != nil {
		return err
	}
	files, err := fsblob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return err
	}
	steps := &step{n}
	bucket := stepBucket{files, steps}
	blobs := materializer.NewBlobs(blobstore.New(bucket))
	log, err := stream.OpenLog(ctx, nc, stream.LogConfig{Blobs: blobs, Shards: 4, Replicas: 1})
	if err != nil {
		return err
	}
	snapshots := materializer.NewSnapshots(bucket)
	sessions := engine.NewSessions(engine.Config{
		Log: stepLog{log, steps}, Blobs: blobs, Snapshots: snapshots, Dialects: dialect.All(), Host: "child",
	})
	raw := crashFile().Bytes
	f, _, err := dialect.Read("pi", raw)
	if err != nil {
		return err
	}
	done, err := sessions.Import(ctx, f, raw, core.Origin{}, engine.ImportOptions{})
	if err != nil {
		return err
	}
	fmt.Println("imported")
	d := done.Session.Draft(func(seq uint64, sum core.Digest) string {
		return materializer.SnapshotKey(log.Name(), done.Session.ID(), seq, sum)
	})
	if err := snapshots.Save(ctx, d.Manifest, d.Plain); err != nil {
		return err
	}
	if err := done.Session.Checkpoint(ctx, d); err != nil {
		return err
	}
	fmt.Println("checkpointed")
	return nil
}

// After a kill at any step of an import or a checkpoint, a restarted node has all of it
// or nothing, and a retry succeeds without duplicates.
func TestKilledImportAndCheckpointLeaveNoPartialState(t *testing.T) {
	t.Parallel()
	file := crashFile()
	found := map[string]int{}
	var f figures
	every := 2 // a kill after one put has the same result as one before the next
	if *long {
		every = 1
	}
	for at := 1; ; at += every {
		node := harness.NewNode(t)
		out := crash(t, node.Data, at)
		node.Start(t)
		c := node.Client()
		info, err := c.Info(harness.Timeout(t), file.ID)
		switch {
		case errors.Is(err, core.ErrNotFound):
			found["nothing"]++
			if strings.Contains(out, "imported") {
				f.lost++
			}
		case err != nil:
			t.Fatal(err)
		case info.Log.Checkpoint > 0:
			found["a session with a snapshot"]++
		default:
			found["a session"]++
		}
		if strings.Contains(out, "checkpointed") && info.Log.Checkpoint == 0 {
			f.lost++
		}
		again, ierr := c.Import(harness.Timeout(t), bytes.NewReader(file.Bytes), int64(len(file.Bytes)), client.ImportOptions{})
		if ierr != nil || again.Created != (err != nil) {
			t.Errorf("step %d: the same import again: %+v, %v", at, again, ierr)
		}
		if got := mustExport(t, c, file.ID); !bytes.Equal(got, file.Bytes) {
			t.Errorf("step %d: the session is not the file", at)
		}
		if _, err := c.Checkpoint(harness.Timeout(t), file.ID); err != nil {
			t.Errorf("step %d: a checkpoint again: %v", at, err)
		}
		intact(t, c, file.ID)
		node.Kill()
		f.operations++
		if strings.Contains(out, "imported") {
			f.acked++
		}
		if strings.Contains(out, "checkpointed") {
			break
		}
		f.fault("kill at a step")
	}
	t.Logf("found after the kills: %v", found)
	for _, want := range []string{"nothing", "a session", "a session with a snapshot"} {
		if found[want] == 0 {
			t.Errorf("no kill left %s: the steps are not around those that count", want)
		}
	}
	f.report(t)
}

// crash runs a child that dies at that step, and returns its output.
func crash(t *testing.T, dir string, at int) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(harness.Timeout(t), self)
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashAt+"="+strconv.Itoa(at))
	out, err := cmd.Output()
	exit, died := errors.AsType[*exec.ExitError](err)
	if err != nil && (!died || exit.Exited()) {
		t.Fatalf("step %d: the child: %v, %s", at, err, out)
	}
	return string(out)
}
