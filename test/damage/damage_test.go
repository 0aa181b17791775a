package damage_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver of the node's directory

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A fixture is the data directory of a stopped node: cleanly, and as kill -9 leaves it.
type fixture struct {
	older, clean, killed string
	files                map[string][]byte // of the sessions
}

const grace = time.Second

// settings make snapshots often, and collect old ones soon.
var settings = []string{"--log-shards", "2", "--snapshots-min-tail", "2KiB", "--snapshots-idle", "200ms", "--snapshots-grace", grace.String(), "--nats-max-store", "1GiB"}

func build(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{files: map[string][]byte{}}
	n := harness.StartNode(t, settings...)
	c := n.Client()
	ids := make([]string, 4)
	for i := range ids {
		made, err := c.Create(harness.Timeout(t), api.Create{CWD: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = string(made.ID)
	}
	fill := func(round int) {
		for i := range 5 {
			for _, id := range ids {
				say(t, c, id, fmt.Sprintf("round %d line %d of %s %s", round, i, id, strings.Repeat("word ", 100)))
			}
		}
	}
	fill(0)
	n.Terminate(t)
	f.older = copyDir(t, n.Data)
	n.Start(t)
	c = n.Client()
	fill(1)
	for _, id := range ids[:2] { // the others have a tail, or no snapshot
		if _, err := c.Checkpoint(harness.Timeout(t), id); err != nil {
			t.Fatal(err)
		}
	}
	say(t, c, ids[0], "the end")
	say(t, c, ids[2], "the end")
	for _, id := range ids {
		b, err := export(harness.Timeout(t), c, id)
		if err != nil {
			t.Fatal(err)
		}
		f.files[id] = b
	}
	awaitRows(t, n, c, ids)
	n.Kill()
	f.killed = copyDir(t, n.Data)
	n.Start(t)
	n.Terminate(t)
	f.clean = copyDir(t, n.Data)
	return f
}

// A damagedCase is one file of a copy of the fixture that is damaged in one way.
type damagedCase struct {
	kind, path string
	way        way
	killed     bool
	seed       uint64
}

func (dc damagedCase) String() string {
	stop := "clean"
	if dc.killed {
		stop = "killed"
	}
	return fmt.Sprintf("%s, %s, %s, %s, seed %d", dc.kind, dc.way.name, stop, dc.path, dc.seed)
}

// The outcomes of a case.
const (
	whole   = "whole"   // every session is byte-identical
	healed  = "healed"  // it is, and something is reported
	named   = "named"   // what is missing is named, and the rest can be read
	refuses = "refuses" // the node does not start, and says why
)

// Whatever happens to a file of a node, it serves the acknowledged bytes, or names what
// is missing. It deletes no snapshot that a session may be restored from.
func TestDamageHasAClearOutcome(t *testing.T) {
	if *long == 0 {
		t.Skip("with -long N: N cases of each kind of file, damage and stop")
	}
	f := build(t)
	cases := f.cases(t)
	t.Logf("%d cases", len(cases))
	var mu sync.Mutex
	table := map[string]map[string]int{}
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, dc := range cases {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			outcome, err := f.run(t, dc)
			if err != nil {
				t.Errorf("%s: %v", dc, err)
				outcome = "FAILED"
			}
			mu.Lock()
			defer mu.Unlock()
			if table[dc.kind] == nil {
				table[dc.kind] = map[string]int{}
			}
			table[dc.kind][outcome]++
		})
	}
	wg.Wait()
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		t.Logf("%-28s %v", kind, table[kind])
	}
}

// cases returns *long cases of each kind of file, way and stop.
func (f *fixture) cases(t *testing.T) (out []damagedCase) {
	t.Helper()
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	t.Logf("seed %d", first)
	r := rand.New(rand.NewPCG(first, 0))
	for _, killed := range []bool{false, true} {
		kinds := f.kinds(t, killed)
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			paths := kinds[kind]
			add := func(w way) {
				out = append(out, damagedCase{kind: kind, path: paths[r.IntN(len(paths))], way: w, killed: killed, seed: r.Uint64()})
			}
			for _, w := range ways {
				for range *long {
					add(w)
				}
			}
		}
	}
	return out
}

func (f *fixture) dir(killed bool) string {
	if killed {
		return f.killed
	}
	return f.clean
}

// kinds returns the files of a data directory by their kind.
func (f *fixture) kinds(t *testing.T, killed bool) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	dir := f.dir(killed)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if kind := kindOf(rel); kind != "" {
			out[kind] = append(out[kind], rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run damages a copy of the fixture, starts a node on it, and returns the outcome.
func (f *fixture) run(t *testing.T, dc damagedCase) (outcome string, err error) {
	n := harness.NewNode(t, settings...)
	defer os.RemoveAll(n.Data)
	defer n.Kill()
	if err := os.CopyFS(n.Data, os.DirFS(f.dir(dc.killed))); err != nil {
		return "", err
	}
	dc.way.damage(t, rand.New(rand.NewPCG(dc.seed, 1)), filepath.Join(n.Data, dc.path), filepath.Join(f.older, dc.path))
	snapshots := snapshotsOf(n.Data)
	n.Launch(t)
	if !ready(t, n) {
		if n.Wait(t); !strings.Contains(n.Log(), "sessnode: ") {
			return "", fmt.Errorf("the node ended without a reason: %s", n.Log())
		}
		return refuses, nil
	}
	c := n.Client()
	missing, served := map[string]error{}, map[string]int{}
	for id, want := range f.files {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		got, err := export(ctx, c, id)
		cancel()
		switch {
		case err != nil && !errors.Is(err, core.ErrCorrupt) && !errors.Is(err, core.ErrNotFound):
			return "", fmt.Errorf("session %s cannot be read, and is not reported as corrupt: %v", id, err)
		case err != nil:
			missing[id] = err
		case !bytes.HasPrefix(want, got):
			return "", fmt.Errorf("session %s has wrong bytes: %d, want %d", id, len(got), len(want))
		case len(got) < len(want):
			missing[id], served[id] = fmt.Errorf("%d of %d bytes", len(got), len(want)), len(got)
		}
	}
	reported := ""
	if len(missing) > 0 {
		if reported, err = f.awaitNamed(t, c, missing); err != nil {
			return "", err
		}
	}
	if len(missing) > 0 {
		t.Logf("%s: %s: %v", dc, reported, missing)
	}
	if err := f.collect(t, n, c, missing, served, snapshots); err != nil {
		return "", err
	}
	return cmp.Or(reported, whole), nil
}

// ready reports whether a launched node became ready, and did not end.
func ready(t *testing.T, n *harness.Node) bool {
	for {
		r, err := http.Get("http://" + n.Arg("--listen") + "/readyz")
		if err == nil {
			_ = r.Body.Close()
		}
		if err == nil && r.StatusCode == http.StatusOK {
			n.AwaitReady(t)
			return true
		}
		select {
		case <-n.Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// awaitNamed returns once the sessions are whole again, or verify, doctor and status
// name each.
func (f *fixture) awaitNamed(t *testing.T, c *client.Client, missing map[string]error) (string, error) {
	var last error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		isWhole := true
		for id := range missing {
			got, err := export(harness.Timeout(t), c, id)
			isWhole = isWhole && err == nil && bytes.Equal(got, f.files[id])
		}
		if isWhole {
			return healed, nil
		}
		if last = f.isNamed(t, c, missing); last == nil {
			return named, nil
		}
	}
	return "", last
}

func (f *fixture) isNamed(t *testing.T, c *client.Client, missing map[string]error) error {
	ctx := harness.Timeout(t)
	doctor, err := c.Doctor(ctx, false)
	if err != nil {
		return err
	}
	for id, why := range missing {
		if got, err := export(ctx, c, id); err == nil && bytes.Equal(got, f.files[id]) {
			continue
		}
		r, err := c.Verify(ctx, id)
		if err == nil && len(r.Problems) == 0 {
			return fmt.Errorf("session %s: %v, and verify finds nothing", id, why)
		}
		if err != nil && !errors.Is(err, core.ErrCorrupt) {
			return fmt.Errorf("session %s: %v, and verify: %v", id, why, err)
		}
	}
	if doctor.Worst().Compare(report.Warning) < 0 {
		return fmt.Errorf("%v, and doctor finds %+v", missing, doctor.Findings)
	}
	st, err := c.Status(ctx)
	if err == nil && st.Healthy {
		err = fmt.Errorf("%v, and status: %s", missing, st.Summary)
	}
	return err
}

// collect runs all collectors, after sessions have grown and the grace has passed, and
// checks that no session has less than before, served bytes, unless its latest snapshot
// is still there.
func (f *fixture) collect(t *testing.T, n *harness.Node, c *client.Client, missing map[string]error, served map[string]int, before []string) error {
	if len(missing) == 0 {
		return nil
	}
	ctx := harness.Timeout(t)
	for id := range f.files { // those that lost something refuse this
		if _, err := c.Append(ctx, id, []byte(harness.Message("user", "after the damage")), client.AppendOptions{}); err == nil {
			_, _ = c.Checkpoint(ctx, id)
		}
	}
	_, _ = c.CollectBlobs(ctx, api.GCRequest{})
	time.Sleep(2 * grace) // nothing shows that a collector has found nothing to do
	for id, why := range missing {
		got, err := export(ctx, c, id)
		if err == nil && (len(got) >= len(f.files[id]) || len(got) >= served[id]) {
			continue
		}
		if latest := latestOf(before, id); latest != latestOf(snapshotsOf(n.Data), id) {
			return fmt.Errorf("session %s: %v, then %d bytes and %v, and its latest snapshot %s was deleted", id, why, len(got), err, latest)
		}
	}
	return nil
}

// latestOf returns the last of a session's snapshots, whose names begin with the
// record's number.
func latestOf(keys []string, id string) (latest string) {
	for _, key := range keys {
		if strings.Contains(key, id) {
			latest = max(latest, key)
		}
	}
	return latest
}

func snapshotsOf(dir string) (out []string) {
	_ = filepath.WalkDir(filepath.Join(dir, "blobs", "snapshots"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return nil
	})
	return out
}

func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
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
