package format_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

var update = flag.Bool("update", false, "write the files of the current version, if it has none")

// current is the version of the format that this program writes.
const current = "v1"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}

// An expected session is as it was when the files of its version were written.
type expected struct {
	Cursor string               `json:"cursor"`
	Heads  map[string]core.Leaf `json:"heads,omitempty"`
	State  string               `json:"state"` // live, deleted or erased
}

func TestMakeFixtures(t *testing.T) {
	dir := filepath.Join("testdata", current)
	if !*update {
		t.Skip("writes files, with -update")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s exists and must not change", dir)
	}
	node := harness.StartNode(t, "--node", "golden")
	host, c := harness.NewHost(t, node), node.Client()
	sessions := map[string]expected{}
	imported := func(seed uint64, shape harness.Shape) string {
		file := harness.Generate(seed, shape)
		host.Do(t, "import", file.Save(t, host.Dir))
		return file.ID
	}
	appended := func(id, words string, o client.AppendOptions) {
		o.Key = words
		if _, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", words)), o); err != nil {
			t.Fatal(err)
		}
	}

	// One with images, a snapshot and records after it, a claim and its release,
	// a second head and a name.
	whole := imported(1, harness.Shape{Turns: 12, Images: 3, ImageBytes: 1200, Words: 12})
	host.Do(t, "checkpoint", whole)
	held, err := c.Claim(harness.Timeout(t), whole, core.ClaimRequest{Agent: "pi", Host: "desk", By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	appended(whole, "from the claim", client.AppendOptions{Writer: held.Writer})
	appended(whole, "on a head of its own", client.AppendOptions{Head: "aside"})
	if err := c.Release(harness.Timeout(t), whole, "main", held.Writer); err != nil {
		t.Fatal(err)
	}
	host.Do(t, "name", whole, "a golden session")
	// One without a snapshot, and a fork of it.
	plain := imported(2, harness.Shape{Turns: 6, Words: 12})
	appended(plain, "hello", client.AppendOptions{})
	host.Do(t, "fork", plain)
	// One in the trash, and one that was erased.
	trashed, gone := imported(3, harness.Shape{Turns: 2}), imported(4, harness.Shape{Turns: 2})
	host.Do(t, "rm", trashed)
	host.Do(t, "erase", gone, "--now", "--yes", "--why", "golden")

	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for id, end := range harness.Ends(t, c) {
		is := expected{Cursor: end, State: "live"}
		switch id {
		case trashed:
			is.State = "deleted"
		case gone:
			is.State = "erased"
		}
		if is.State == "live" {
			is.Heads = headsOf(t, c, id)
			write(t, filepath.Join(dir, id+".jsonl"), harness.Export(t, c, id))
		}
		sessions[id] = is
		dump(t, c, dir, id)
	}
	host.Do(t, "backup", "--to", mustAbs(t, filepath.Join(dir, "backup")))
	if code := node.Terminate(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	text, err := json.MarshalIndent(sessions, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sessions.json"), append(text, '\n'))
	pack(t, node.Data, filepath.Join(dir, "data.tar.gz"))
}

// dump writes the records of a session, and its snapshot if it has one.
func dump(t *testing.T, c *client.Client, dir, id string) {
	t.Helper()
	records, err := c.Records(harness.Timeout(t), id, client.RecordsFrom{Start: true})
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	var all bytes.Buffer
	for {
		r, err := records.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = recordio.Write(&all, r)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != core.KindCheckpoint {
			continue
		}
		m, err := r.Record.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		packed, err := c.SnapshotObject(harness.Timeout(t), m)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, id+".snapshot.zst"), packed)
	}
	write(t, filepath.Join(dir, id+".records"), all.Bytes())
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// pack writes an archive of a node's data directory, without its indexes.
func pack(t *testing.T, dir, to string) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, ".db") && filepath.Dir(path) == dir {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(rel), Mode: 0o600, Size: int64(len(b)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, to, out.Bytes())
}
