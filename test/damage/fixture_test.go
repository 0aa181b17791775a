package damage_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver of the node's directory

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

const (
	rootToken = "a-root-token-of-the-test"
	maxStore  = 1 << 30
)

// settings make snapshots often. The collectors run in the test's process.
var settings = []string{
	"SESS_TOKEN=" + rootToken, "--log-shards", "2", "--snapshots-min-tail", "2KiB", "--snapshots-idle", "200ms",
	"--snapshots-grace", "0s", "--log-garbage", "0", "--blobs-collect", "0s", "--nats-max-store", fmt.Sprint(maxStore),
}

// garbage are blobs that no session references.
var garbage = []string{"deleted in the fixture", "in the trash", "not collected yet"}

// A fixture is the data directory of a stopped node: some time before, stopped cleanly,
// and as kill -9 leaves it.
type fixture struct {
	older, clean, killed string
	files                map[string][]byte // of the sessions
	images               map[string]bool   // objects with blobs that sessions reference
}

func newNode(t *testing.T) *harness.Node {
	t.Helper()
	n := harness.NewNode(t, settings...)
	n.Token = rootToken
	bound(n)
	return n
}

// bound limits the address space of a node, of which it needs about 2 GiB, so that one
// that needs too much memory ends and the machine does not.
func bound(n *harness.Node) {
	if path, err := exec.LookPath("prlimit"); err == nil {
		n.Via = []string{path, fmt.Sprintf("--as=%d", int64(8)<<30)}
	}
}

func build(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{older: filepath.Join(dir, "older"), clean: filepath.Join(dir, "clean"), killed: filepath.Join(dir, "killed"), files: map[string][]byte{}}
	n := newNode(t)
	n.Start(t)
	ids := fillFirst(t, n.Client())
	n.Terminate(t)
	collectBlobs(t, n.Data, 2) // one is deleted, which leaves a report
	copyDir(t, n.Data, f.older)
	f.images = objectsOf(t, filepath.Join(f.older, "blobs"))
	n.Start(t)
	fillThen(t, n.Client(), ids)
	n.Terminate(t)
	collectBlobs(t, n.Data, 1) // one is in the trash
	n.Start(t)
	c := n.Client()
	if err := c.PutBlob(t.Context(), []byte(garbage[2])); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		say(t, c, id, "the end of "+id)
		b, err := export(t.Context(), c, id)
		if err != nil {
			t.Fatal(err)
		}
		f.files[id] = b
	}
	awaitRows(t, n, c, ids)
	n.Kill()
	copyDir(t, n.Data, f.killed)
	n.Start(t)
	n.Terminate(t)
	copyDir(t, n.Data, f.clean)
	return f
}

// fillFirst creates sessions, images, bodies in the store, a token and a blob that no
// session references.
func fillFirst(t *testing.T, c *client.Client) (ids []string) {
	t.Helper()
	for range 4 {
		made, err := c.Create(t.Context(), api.Create{CWD: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, string(made.ID))
	}
	file := harness.Generate(7, harness.Shape{Turns: 3, Images: 2})
	if _, err := c.Import(t.Context(), bytes.NewReader(file.Bytes), int64(len(file.Bytes)), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, file.ID)
	if _, err := c.CreateToken(t.Context(), api.TokenRequest{Name: "reader", Scope: "read"}); err != nil {
		t.Fatal(err)
	}
	if err := c.PutBlob(t.Context(), []byte(garbage[0])); err != nil {
		t.Fatal(err)
	}
	fill(t, c, ids, 0)
	return ids
}

func fillThen(t *testing.T, c *client.Client, ids []string) {
	t.Helper()
	fill(t, c, ids, 1)
	say(t, c, ids[3], noise(400<<10)) // its body is a blob
	for _, id := range ids[:2] {      // the others have a tail, or no snapshot
		if _, err := c.Checkpoint(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.PutBlob(t.Context(), []byte(garbage[1])); err != nil {
		t.Fatal(err)
	}
}

func fill(t *testing.T, c *client.Client, ids []string, round int) {
	t.Helper()
	for i := range 5 {
		for _, id := range ids {
			say(t, c, id, fmt.Sprintf("round %d line %d of %s %s", round, i, id, strings.Repeat("word ", 100)))
		}
	}
}

// noise returns n bytes of text that do not compress well.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"[r.IntN(64)]
	}
	return string(b)
}

// collectBlobs runs the collector of blobs on a stopped node's data directory.
func collectBlobs(t *testing.T, data string, times int) {
	t.Helper()
	err := withCollectors(t.Context(), data, func(c *collectors) error {
		for range times {
			if _, err := c.blobs.Run(t.Context(), gc.Request{Apply: true}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func say(t *testing.T, c *client.Client, id, words string) {
	t.Helper()
	if _, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", words)), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

func export(ctx context.Context, c *client.Client, id string) ([]byte, error) {
	body, err := c.Export(ctx, id, false)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// awaitRows returns once the node's directory on disk has all records of the sessions.
func awaitRows(t *testing.T, n *harness.Node, c *client.Client, ids []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(n.Data, "index.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	harness.Await(t, "the rows are saved", func() error {
		for _, id := range ids {
			info, err := c.Info(harness.Timeout(t), id)
			if err != nil {
				return err
			}
			var seq uint64
			err = db.QueryRowContext(t.Context(), `SELECT seq FROM sessions WHERE id = ?`, id).Scan(&seq)
			if err != nil || seq != info.Log.Cursor.Seq {
				return fmt.Errorf("the row of %s has record %d of %d, %v", id, seq, info.Log.Cursor.Seq, err)
			}
		}
		return nil
	})
}
