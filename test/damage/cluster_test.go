package damage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/blobstore/s3blob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

const members = 3

// clusterSettings make snapshots often, and truncate the log whenever that is possible.
var clusterSettings = []string{
	"SESS_TOKEN=" + rootToken, "--cluster-secret", "a-secret-of-the-test", "--log-shards", "2", "--snapshots-min-tail", "2KiB",
	"--snapshots-idle", "200ms", "--log-garbage", "1KiB", "--blobs-collect", "0s", "--blobs-disk", "64MiB", "--nats-max-store", fmt.Sprint(maxStore),
}

// A clusterFixture is the data directories of three stopped members.
type clusterFixture struct {
	bucket                *harness.Bucket
	older, clean, killed  [members]string
	files                 map[string][]byte // of the sessions
	cleanStore, killStore string            // prefixes of the store
}

func newCluster(t *testing.T, b *harness.Bucket, prefix string) []*harness.Node {
	t.Helper()
	nodes := harness.NewCluster(t, members, b, append(clusterSettings, "--blobs-s3-prefix", prefix)...)
	for _, n := range nodes {
		n.Token = rootToken
		bound(n)
	}
	return nodes
}

func buildCluster(t *testing.T) *clusterFixture {
	t.Helper()
	f := &clusterFixture{bucket: harness.StartBucket(t), files: map[string][]byte{}, cleanStore: "clean", killStore: "killed"}
	dir := t.TempDir()
	for i := range members {
		f.older[i] = filepath.Join(dir, fmt.Sprintf("older%d", i))
		f.clean[i] = filepath.Join(dir, fmt.Sprintf("clean%d", i))
		f.killed[i] = filepath.Join(dir, fmt.Sprintf("killed%d", i))
	}
	nodes := newCluster(t, f.bucket, "build")
	harness.StartAll(t, nodes)
	ids := fillFirst(t, nodes[0].Client())
	f.keep(t, nodes, false, &f.older, "")
	harness.StartAll(t, nodes)
	c := nodes[1].Client()
	fillThen(t, c, ids)
	stopAll(t, nodes) // the Raft logs begin with snapshots then
	harness.StartAll(t, nodes)
	c = nodes[2].Client()
	for _, id := range ids {
		say(t, c, id, "the end of "+id)
		b, err := export(t.Context(), c, id)
		if err != nil {
			t.Fatal(err)
		}
		f.files[id] = b
	}
	for _, n := range nodes {
		awaitRows(t, n, n.Client(), ids)
	}
	f.keep(t, nodes, true, &f.killed, f.killStore)
	harness.StartAll(t, nodes)
	f.keep(t, nodes, false, &f.clean, f.cleanStore)
	return f
}

// keep stops all members, and copies their directories and the store.
func (f *clusterFixture) keep(t *testing.T, nodes []*harness.Node, kill bool, to *[members]string, store string) {
	t.Helper()
	if kill {
		for _, n := range nodes {
			n.Kill()
		}
	} else {
		stopAll(t, nodes)
	}
	for i, n := range nodes {
		copyDir(t, n.Data, to[i])
	}
	if store != "" {
		f.copyStore(t, "build", store)
	}
}

func stopAll(t *testing.T, nodes []*harness.Node) {
	t.Helper()
	for _, n := range nodes {
		n.Signal(t)
	}
	for _, n := range nodes {
		n.Wait(t)
	}
}

// copyStore copies the objects below one prefix of the bucket to another.
func (f *clusterFixture) copyStore(t *testing.T, from, to string) {
	t.Helper()
	ctx := t.Context()
	src, dst := f.store(t, from), f.store(t, to)
	for info, err := range src.List(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		r, err := src.Get(ctx, info.Key)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err = b.ReadFrom(r); err == nil {
			err = dst.Put(ctx, info.Key, bytes.NewReader(b.Bytes()), int64(b.Len()))
		}
		_ = r.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (f *clusterFixture) store(t *testing.T, prefix string) *s3blob.Bucket {
	t.Helper()
	b := f.bucket
	s, err := s3blob.New(s3blob.Config{
		Endpoint: b.Endpoint, Region: b.Region, Bucket: b.Name, Prefix: prefix, AccessKey: b.AccessKey, SecretKey: b.SecretKey, CAFile: b.CAFile,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A memberCase is a damaged file of one member.
type memberCase struct {
	damagedCase
	member int
	all    bool     // all members start at once; otherwise the others run already
	also   []string // damaged in the same way; all files of the kind, or none
}

func (mc memberCase) String() string {
	starts := "starts last"
	if mc.all {
		starts = "all start"
	}
	if len(mc.also) > 0 {
		starts += fmt.Sprintf(", with %d files", len(mc.also))
	}
	return fmt.Sprintf("n%d %s, %s", mc.member+1, starts, mc.damagedCase)
}

// Whatever happens to a file of one member of three, nothing is lost: all members that
// run serve every session whole, and the damaged one heals, or does not start and says
// why, and the others name it. A session is never missing or short, and once the
// damaged member serves, another one can fail.
func TestDamageOfOneMemberLosesNothing(t *testing.T) {
	t.Parallel()
	if *long == 0 {
		t.Skip("with -long N: N cases of each kind of file, on a cluster of three")
	}
	f := buildCluster(t)
	cases := slices.DeleteFunc(f.cases(t), func(mc memberCase) bool { return !strings.Contains(mc.String(), *only) })
	tb := &table{counts: map[string]map[string]int{}}
	runAll(t, cases, func(t *testing.T, mc memberCase) {
		began := time.Now()
		outcome, err := f.run(t, mc)
		if err != nil {
			t.Errorf("%s: %v", mc, err)
			outcome = failed
		}
		tb.add(mc.kind, outcome, 0, time.Since(began))
	})
	t.Logf("seed %d, one of three nodes, %d cases:\n%s", *seed, len(cases), tb)
}

func (f *clusterFixture) cases(t *testing.T) (out []memberCase) {
	t.Helper()
	r := rand.New(rand.NewPCG(*seed, 3))
	for _, killed := range []bool{false, true} {
		kinds := filesByKind(t, f.dirs(killed)[0])
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			for range *long {
				m := r.IntN(members)
				one := &fixture{older: f.older[m], clean: f.clean[m], killed: f.killed[m]}
				paths := filesByKind(t, one.dir(killed))[kind]
				if len(paths) == 0 {
					continue
				}
				dc := one.damagedCase(r, kind, paths, ways[r.IntN(len(ways))], killed)
				mc := memberCase{damagedCase: dc, member: m, all: r.IntN(2) == 0}
				if r.IntN(3) == 0 {
					mc.also = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == dc.path })
				}
				out = append(out, mc)
			}
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (f *clusterFixture) dirs(killed bool) *[members]string {
	if killed {
		return &f.killed
	}
	return &f.clean
}

// run starts the cluster with a damaged member, and returns the outcome.
func (f *clusterFixture) run(t *testing.T, mc memberCase) (string, error) {
	store, from := fmt.Sprintf("case-%d-%d", mc.member, mc.seed), f.cleanStore
	if mc.killed {
		from = f.killStore
	}
	f.copyStore(t, from, store)
	nodes := newCluster(t, f.bucket, store)
	for i, n := range nodes {
		copyDir(t, f.dirs(mc.killed)[i], n.Data)
	}
	bad := nodes[mc.member]
	others := slices.DeleteFunc(slices.Clone(nodes), func(n *harness.Node) bool { return n == bad })
	r := rand.New(rand.NewPCG(mc.seed, 1))
	for _, path := range append([]string{mc.path}, mc.also...) {
		mc.way.damage(t, r, filepath.Join(bad.Data, path), mc.other)
	}
	if mc.all {
		bad.Launch(t)
	}
	harness.StartAll(t, others)
	for _, n := range others { // while the damaged member starts or not
		if err := f.servesAll(t, n); err != nil {
			return "", err
		}
	}
	if !mc.all {
		bad.Launch(t)
	}
	isReady, err := awaitStart(t, bad)
	if err != nil {
		return "", err
	}
	serving := others
	if isReady {
		serving = nodes
	}
	if err := f.serveAndGrow(t, serving); err != nil {
		return "", err
	}
	if !isReady {
		return refuses, awaitNamed(t, others, bad)
	}
	lost := others[mc.seed%2] // the damaged copy is needed now
	lost.Kill()
	return whole, f.serveAndGrow(t, slices.DeleteFunc(serving, func(n *harness.Node) bool { return n == lost }))
}

// servesAll reads every session from a node. It may be unavailable for a while, but is
// never missing, short, corrupt or wrong.
func (f *clusterFixture) servesAll(t *testing.T, n *harness.Node) error {
	for id, want := range f.files {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
			got, err := export(ctx, n.Client(), id)
			cancel()
			if err == nil && bytes.HasPrefix(got, want) {
				break
			}
			if err == nil {
				return fmt.Errorf("%s: session %s has %d of %d bytes", n.Arg("--node"), id, len(got), len(want))
			}
			if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt) || time.Now().After(deadline) {
				return fmt.Errorf("%s: session %s: %w", n.Arg("--node"), id, err)
			}
		}
	}
	return nil
}

// serveAndGrow reads every session from all nodes, appends to each, and reads again.
func (f *clusterFixture) serveAndGrow(t *testing.T, nodes []*harness.Node) error {
	for _, n := range nodes {
		if err := f.servesAll(t, n); err != nil {
			return err
		}
	}
	i := 0
	for id := range f.files {
		n := nodes[i%len(nodes)]
		i++
		harness.Await(t, "an append to "+id, func() error {
			_, err := n.Client().Append(harness.Timeout(t), id, []byte(harness.Message("user", "after the damage")), client.AppendOptions{})
			if errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrNotFound) {
				t.Errorf("%s: append to %s: %v", n.Arg("--node"), id, err)
				return nil
			}
			return err
		})
	}
	for _, n := range nodes {
		if err := f.servesAll(t, n); err != nil {
			return err
		}
	}
	return nil
}

// awaitNamed returns once doctor on all members that run names the one that does not.
func awaitNamed(t *testing.T, others []*harness.Node, bad *harness.Node) error {
	for _, n := range others {
		was := []string{bad.Arg("--node"), "a node other than " + others[0].Arg("--node") + ", " + others[1].Arg("--node")}
		harness.Await(t, n.Arg("--node")+" names the member that is missing", func() error {
			r, err := n.Client().Doctor(t.Context(), false)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(r.Findings, func(f report.Finding) bool {
				return strings.Contains(f.Detail, was[0]+" is not available") || strings.Contains(f.Detail, was[1]+" is not available")
			}) {
				return fmt.Errorf("doctor finds %+v", r.Findings)
			}
			return nil
		})
	}
	return nil
}
