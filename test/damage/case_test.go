package damage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

const (
	// maxMemory is the most memory that a node may need.
	maxMemory = 1 << 30
	// startTimeout is how long a node may take to be ready or to say why it is not.
	startTimeout = 3 * time.Minute
	// readTimeout is how long a session may take to be read or refused.
	readTimeout = time.Minute
	// nameTimeout is how long a loss may take to be healed or named.
	nameTimeout = 2 * time.Minute
)

// A trial is a case that runs.
type trial struct {
	*fixture
	t       *testing.T
	n       *harness.Node
	c       *client.Client
	missing map[string]error // why a session is not whole
	peak    int64            // of the node's memory
}

// run damages a copy of the fixture, starts a node on it, runs the collectors, starts it
// again and returns the outcome.
func (f *fixture) run(t *testing.T, dc damagedCase) (outcome string, peak int64, err error) {
	tr := &trial{fixture: f, t: t, n: newNode(t)}
	defer os.RemoveAll(tr.n.Data)
	defer tr.n.Kill()
	copyDir(t, f.dir(dc.killed), tr.n.Data)
	dc.way.damage(t, rand.New(rand.NewPCG(dc.seed, 1)), filepath.Join(tr.n.Data, dc.path), dc.other)
	outcome, err = tr.outcome()
	if err != nil || outcome == refuses || outcome == whole && !dc.isOfSessions() && dc.seed%4 != 0 {
		return outcome, tr.peak, err
	}
	then, err := tr.collect()
	return worse(outcome, then), tr.peak, err
}

// worse returns the worse of two outcomes.
func worse(a, b string) string {
	return outcomes[max(slices.Index(outcomes, a), slices.Index(outcomes, b))]
}

// outcome starts the node and reads everything.
func (tr *trial) outcome() (string, error) {
	if isReady, err := tr.start(); err != nil || !isReady {
		return refuses, err
	}
	return tr.read()
}

// read reads every session of the running node, and returns the outcome.
func (tr *trial) read() (string, error) {
	if err := tr.readAll(); err != nil {
		return "", err
	}
	tr.measure()
	if tr.peak > maxMemory {
		return "", fmt.Errorf("the node took %d MiB", tr.peak>>20)
	}
	if len(tr.missing) == 0 {
		return whole, nil
	}
	outcome, err := tr.awaitNamed()
	if err == nil && len(tr.n.Complaints()) == 0 {
		err = fmt.Errorf("%v, and the node's log has no warning", tr.missing)
	}
	return outcome, err
}

// start reports whether the node became ready.
func (tr *trial) start() (bool, error) {
	tr.n.Launch(tr.t)
	isReady, err := awaitStart(tr.t, tr.n)
	if isReady {
		tr.c = tr.n.Client()
	}
	return isReady, err
}

// awaitStart reports whether a launched node became ready. If it ended instead, its log
// must say why.
func awaitStart(t *testing.T, n *harness.Node) (bool, error) {
	for deadline := time.Now().Add(startTimeout); ; {
		r, err := http.Get("http://" + n.Arg("--listen") + "/readyz")
		if err == nil {
			_ = r.Body.Close()
		}
		if err == nil && r.StatusCode == http.StatusOK {
			n.AwaitReady(t)
			return true, nil
		}
		select {
		case <-n.Done():
			code := n.Wait(t)
			if log := n.Log(); code != 1 || !strings.Contains(log, "sessnode: ") {
				return false, fmt.Errorf("the node ended with code %d and no reason: %s", code, log)
			}
			return false, nil
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return false, fmt.Errorf("%s is neither ready nor does it end", n.Arg("--node"))
		}
	}
}

// readAll reads every session. It returns an error if one has wrong bytes, or cannot be
// read and is not reported as corrupt.
func (tr *trial) readAll() error {
	tr.missing = map[string]error{}
	for id, want := range tr.files {
		got, err := exportOrRefusal(tr.t, tr.c, id)
		switch {
		case err != nil && !errors.Is(err, core.ErrCorrupt) && !errors.Is(err, core.ErrNotFound):
			return fmt.Errorf("session %s cannot be read, and is not reported as corrupt: %v", id, err)
		case err != nil:
			tr.missing[id] = err
		case bytes.HasPrefix(got, want): // whole, and perhaps grown
		case !bytes.HasPrefix(want, got):
			return fmt.Errorf("session %s has wrong bytes: %d, want %d", id, len(got), len(want))
		default:
			tr.missing[id] = fmt.Errorf("%d of %d bytes", len(got), len(want))
		}
	}
	return nil
}

// exportOrRefusal is export that retries until the session is read or refused.
func exportOrRefusal(t *testing.T, c *client.Client, id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
	defer cancel()
	for {
		b, err := export(ctx, c, id)
		if err == nil || errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrNotFound) || ctx.Err() != nil {
			return b, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// measure notes how much memory the running node has needed.
func (tr *trial) measure() { tr.peak = max(tr.peak, peakOf(tr.n)) }

// peakOf returns the most memory that a running node has needed, 0 where that is unknown.
func peakOf(n *harness.Node) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
	if err != nil {
		return 0 // on other systems
	}
	for line := range strings.Lines(string(b)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// awaitNamed returns once the sessions are whole again, or verify, doctor and status
// name each.
func (tr *trial) awaitNamed() (string, error) {
	var last error
	for deadline := time.Now().Add(nameTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if tr.isWhole() {
			return healed, nil
		}
		if last = tr.isNamed(); last == nil {
			return named, nil
		}
	}
	return "", last
}

func (tr *trial) isWhole() bool {
	for id := range tr.missing {
		got, err := export(harness.Timeout(tr.t), tr.c, id)
		if err != nil || !bytes.HasPrefix(got, tr.files[id]) {
			return false
		}
	}
	return true
}

func (tr *trial) isNamed() error {
	ctx := harness.Timeout(tr.t)
	doctor, err := tr.c.Doctor(ctx, false)
	if err != nil {
		return err
	}
	for id, why := range tr.missing {
		if got, err := export(ctx, tr.c, id); err == nil && bytes.HasPrefix(got, tr.files[id]) {
			continue
		}
		r, err := tr.c.Verify(ctx, id)
		if err == nil && len(r.Problems) == 0 {
			return fmt.Errorf("session %s: %v, and verify finds nothing", id, why)
		}
		if err != nil && !errors.Is(err, core.ErrCorrupt) {
			return fmt.Errorf("session %s: %v, and verify: %v", id, why, err)
		}
	}
	if doctor.Worst().Compare(report.Warning) < 0 {
		return fmt.Errorf("%v, and doctor finds %+v", tr.missing, doctor.Findings)
	}
	st, err := tr.c.Status(ctx)
	if err == nil && st.Healthy {
		err = fmt.Errorf("%v, and status: %s", tr.missing, st.Summary)
	}
	return err
}

// collect lets the sessions grow, runs all collectors, starts the node again and returns
// the outcome: this start may find damage that the first did not, as it follows a kill -9.
// What an unhealed loss may need is still there: the latest
// snapshot of the session, and all blobs that sessions reference.
func (tr *trial) collect() (string, error) {
	ctx := harness.Timeout(tr.t)
	for id := range tr.files { // those that lost something refuse this
		if _, err := tr.c.Append(ctx, id, []byte(harness.Message("user", "after the damage")), client.AppendOptions{}); err == nil {
			_, _ = tr.c.Checkpoint(ctx, id)
		}
	}
	tr.n.Kill()
	had := objectsOf(tr.t, tr.store())
	if err := collect(tr.t, tr.n.Data); err != nil {
		return "", err
	}
	left := objectsOf(tr.t, tr.store())
	outcome, err := tr.outcome()
	if err == nil && outcome == refuses {
		err = errors.New("the node does not start")
	}
	if err != nil {
		return "", fmt.Errorf("after the collectors: %w", err)
	}
	if outcome == named {
		err = tr.isKept(had, left)
	}
	return outcome, err
}

// isKept checks that what an unhealed loss may need was not deleted: of the snapshots and
// blobs that were there before the collectors ran.
func (tr *trial) isKept(had, left map[string]bool) error {
	isLoss := slices.ContainsFunc(slices.Collect(maps.Keys(had)), func(path string) bool { return strings.HasPrefix(path, "losses") })
	for path := range had {
		// Without a loss, the body of a truncated record is garbage.
		if strings.HasPrefix(path, "blobs") && !left[path] && !isGarbage(path) && (isLoss || tr.images[path]) {
			return fmt.Errorf("%v, and %s was deleted", tr.missing, path)
		}
	}
	for id, why := range tr.missing {
		if got, err := export(harness.Timeout(tr.t), tr.c, id); err == nil && bytes.HasPrefix(got, tr.files[id]) {
			continue // restored, and its snapshots of lost records are gone
		}
		if latest := latestOf(had, id); latest != "" && had["losses/main/"+id+".json"] && !left[latest] {
			return fmt.Errorf("session %s: %v, and its latest snapshot %s was deleted", id, why, latest)
		}
	}
	return nil
}

// isGarbage reports whether no session of the fixture references a blob.
func isGarbage(path string) bool {
	for _, content := range garbage {
		if strings.HasSuffix(path, strings.TrimPrefix(core.DigestOf([]byte(content)).String(), "sha256:")) {
			return true
		}
	}
	return false
}

// latestOf returns the last of a session's snapshots, whose names begin with the
// record's number.
func latestOf(paths map[string]bool, id string) (latest string) {
	for path := range paths {
		if strings.HasPrefix(path, "snapshots") && strings.Contains(path, id) {
			latest = max(latest, path)
		}
	}
	return latest
}

// store returns the directory of a node's object store.
func (tr *trial) store() string { return filepath.Join(tr.n.Data, "blobs") }

// objectsOf returns the objects of a store by their paths.
func objectsOf(tb testing.TB, store string) map[string]bool {
	tb.Helper()
	out := map[string]bool{}
	if isDir(store) {
		walk(tb, store, func(rel string, _ fs.FileInfo) { out[filepath.ToSlash(rel)] = true })
	}
	return out
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
