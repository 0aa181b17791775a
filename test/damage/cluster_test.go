package damage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
	"--snapshots-idle", "200ms", "--snapshots-grace", "0s", "--log-garbage", "1KiB", "--blobs-collect", "0s", "--blobs-disk", "64MiB",
	"--nats-max-store", fmt.Sprint(maxStore), "--nats-listen", "127.0.0.1:0", "SESS_NATS_TOKEN=" + rootToken,
}

// A clusterFixture is the data directories of three stopped members, and their store.
type clusterFixture struct {
	bucket               *harness.Bucket
	older, clean, killed [members]string
	files                map[string][]byte // of the sessions
	images               map[string]bool   // objects with blobs that sessions reference
}

// The prefixes of the store's copies.
const (
	built, olderStore, cleanStore, killedStore = "build", "older", "clean", "killed"
)

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
	f := &clusterFixture{bucket: harness.StartBucket(t), files: map[string][]byte{}}
	dir := t.TempDir()
	for i := range members {
		f.older[i] = filepath.Join(dir, fmt.Sprintf("older%d", i))
		f.clean[i] = filepath.Join(dir, fmt.Sprintf("clean%d", i))
		f.killed[i] = filepath.Join(dir, fmt.Sprintf("killed%d", i))
	}
	nodes := newCluster(t, f.bucket, built)
	harness.StartAll(t, nodes)
	ids := fillFirst(t, nodes[0].Client())
	f.keep(t, nodes, false, &f.older, olderStore)
	f.images = objectsOf(t, f.dirOf(olderStore))
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
	f.keep(t, nodes, true, &f.killed, killedStore)
	harness.StartAll(t, nodes)
	f.keep(t, nodes, false, &f.clean, cleanStore)
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
	f.copyStore(t, built, store)
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
	src, dst := f.bucketOf(t, from), f.bucketOf(t, to)
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

func (f *clusterFixture) bucketOf(t *testing.T, prefix string) *s3blob.Bucket {
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

// dirOf returns the directory of a copy of the store.
func (f *clusterFixture) dirOf(prefix string) string { return f.bucket.File(f.bucket.Name, prefix) }

// ofStore is the member of a case that damages the object store, which all share.
const ofStore = -1

// A memberCase is a damaged file of one member.
type memberCase struct {
	damagedCase
	member int      // or ofStore
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
	of := fmt.Sprintf("n%d %s", mc.member+1, starts)
	if mc.member == ofStore {
		of = "S3"
	}
	return of + ", " + mc.damagedCase.String()
}

// Whatever happens to a file of one member of three, nothing is lost: all members that
// run serve every session whole, and the damaged one heals, or does not start and says
// why, and the others name it. A session is never missing or short, and once the
// damaged member serves, another one can fail. Damage of the object store, which has the
// only copy of some bytes, is named by each member that serves less for it. In both cases
// the collectors of all members delete nothing that is needed.
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
		outcome, peak, err := f.run(t, mc)
		if err != nil {
			t.Errorf("%s: %v", mc, err)
			outcome = failed
		}
		tb.add(mc.kind, outcome, peak, time.Since(began))
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
		store := &fixture{older: f.dirOf(olderStore), clean: f.dirOf(cleanStore), killed: f.dirOf(killedStore)}
		kinds = storeByKind(t, store.dir(killed))
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			for range *long {
				out = append(out, memberCase{damagedCase: store.damagedCase(r, kind, kinds[kind], ways[r.IntN(len(ways))], killed), member: ofStore})
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

// A clusterTrial is a case that runs.
type clusterTrial struct {
	*clusterFixture
	t       *testing.T
	mc      memberCase
	prefix  string // of the store
	nodes   []*harness.Node
	serving []*harness.Node
	peak    int64 // of a node's memory
}

// run starts the cluster with a damaged member or store, and returns the outcome.
func (f *clusterFixture) run(t *testing.T, mc memberCase) (outcome string, peak int64, err error) {
	ct := &clusterTrial{clusterFixture: f, t: t, mc: mc, prefix: fmt.Sprintf("case-%d", mc.seed)}
	from := cleanStore
	if mc.killed {
		from = killedStore
	}
	f.copyStore(t, from, ct.prefix)
	defer os.RemoveAll(f.dirOf(ct.prefix))
	ct.nodes = newCluster(t, f.bucket, ct.prefix)
	for i, n := range ct.nodes {
		copyDir(t, f.dirs(mc.killed)[i], n.Data)
		defer os.RemoveAll(n.Data)
		defer n.Kill()
	}
	if mc.member == ofStore {
		outcome, err = ct.store()
	} else {
		outcome, err = ct.member()
	}
	if err == nil && ct.peak > maxMemory {
		err = fmt.Errorf("a node took %d MiB", ct.peak>>20)
	}
	return outcome, ct.peak, err
}

// member runs a case of a member.
func (ct *clusterTrial) member() (string, error) {
	t, mc := ct.t, ct.mc
	bad := ct.nodes[mc.member]
	others := ct.without(bad)
	r := rand.New(rand.NewPCG(mc.seed, 1))
	for _, path := range append([]string{mc.path}, mc.also...) {
		mc.way.damage(t, r, filepath.Join(bad.Data, path), mc.other)
	}
	if mc.all {
		bad.Launch(t)
	}
	harness.StartAll(t, others)
	for _, n := range others { // while the damaged member starts or not
		if err := ct.servesAll(n); err != nil {
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
	ct.serving = others
	if isReady {
		ct.serving = ct.nodes
	}
	if err := ct.serveAndGrow(); err != nil {
		return "", err
	}
	if !isReady {
		if err := awaitNamed(t, others, bad); err != nil {
			return "", err
		}
	}
	if err := ct.collect(); err != nil {
		return "", err
	}
	if !isReady {
		return refuses, ct.serveAndGrow()
	}
	lost := others[mc.seed%2] // the damaged copy is needed now
	lost.Kill()
	ct.serving = ct.without(lost)
	return whole, ct.serveAndGrow()
}

func (ct *clusterTrial) without(bad *harness.Node) []*harness.Node {
	return slices.DeleteFunc(slices.Clone(ct.nodes), func(n *harness.Node) bool { return n == bad })
}

// store runs a case of the object store.
func (ct *clusterTrial) store() (string, error) {
	ct.mc.way.damage(ct.t, rand.New(rand.NewPCG(ct.mc.seed, 1)), filepath.Join(ct.dirOf(ct.prefix), ct.mc.path), ct.mc.other)
	harness.StartAll(ct.t, ct.nodes)
	ct.serving = ct.nodes
	outcome, err := ct.read(nil, nil)
	if err != nil {
		return "", err
	}
	for id := range ct.files { // those that lost something may refuse this
		_, _ = ct.nodes[0].Client().Append(harness.Timeout(ct.t), id, []byte(harness.Message("user", "after the damage")), client.AppendOptions{})
	}
	had := objectsOf(ct.t, ct.dirOf(ct.prefix))
	if err := ct.collect(); err != nil {
		return "", err
	}
	left := objectsOf(ct.t, ct.dirOf(ct.prefix))
	for _, n := range ct.nodes { // they forget what they have in memory
		n.Kill()
	}
	harness.StartAll(ct.t, ct.nodes)
	then, err := ct.read(had, left)
	return worse(outcome, then), err
}

// read reads every session from all nodes, and returns the worst outcome. What the
// collectors left must be enough for what is lost.
func (ct *clusterTrial) read(had, left map[string]bool) (string, error) {
	all := whole
	for _, n := range ct.serving {
		tr := &trial{fixture: &fixture{files: ct.files, images: ct.images}, t: ct.t, n: n, c: n.Client()}
		outcome, err := tr.read()
		ct.peak = max(ct.peak, tr.peak)
		if err == nil && outcome == named {
			err = tr.isKept(had, left)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", n.Arg("--node"), err)
		}
		all = worse(all, outcome)
	}
	return all, nil
}

// collect checkpoints all sessions and runs the collectors of a further member.
func (ct *clusterTrial) collect() error {
	c := ct.serving[0].Client()
	for id := range ct.files {
		_, _ = c.Checkpoint(harness.Timeout(ct.t), id) // it may refuse to
	}
	ctx, cancel := context.WithTimeout(ct.t.Context(), 2*time.Minute)
	defer cancel()
	conn, err := nats.Connect(ct.serving[0].NATSURL(), nats.Token(rootToken))
	if err != nil {
		return err
	}
	defer conn.Close()
	at := place{conn: conn, replicas: members, bucket: ct.bucketOf(ct.t, ct.prefix), rows: filepath.Join(ct.t.TempDir(), "index.db")}
	return collectorsOf(ctx, at, func(c *collectors) error { return c.run(ctx) })
}

// servesAll reads every session from a node. It may be unavailable for a while, but is
// never missing, short, corrupt or wrong.
func (ct *clusterTrial) servesAll(n *harness.Node) error {
	for id, want := range ct.files {
		got, err := exportOrRefusal(ct.t, n.Client(), id)
		if err == nil && !bytes.HasPrefix(got, want) {
			err = fmt.Errorf("%d of %d bytes", len(got), len(want))
		}
		if err != nil {
			return fmt.Errorf("%s: session %s: %w", n.Arg("--node"), id, err)
		}
	}
	return nil
}

// serveAndGrow reads every session from all nodes, appends to each, and reads again.
func (ct *clusterTrial) serveAndGrow() error {
	for _, n := range ct.serving {
		if err := ct.servesAll(n); err != nil {
			return err
		}
	}
	i := 0
	for id := range ct.files {
		n := ct.serving[i%len(ct.serving)]
		i++
		harness.Await(ct.t, "an append to "+id, func() error {
			_, err := n.Client().Append(harness.Timeout(ct.t), id, []byte(harness.Message("user", "after the damage")), client.AppendOptions{})
			if errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrNotFound) {
				ct.t.Errorf("%s: append to %s: %v", n.Arg("--node"), id, err)
				return nil
			}
			return err
		})
	}
	for _, n := range ct.serving {
		if err := ct.servesAll(n); err != nil {
			return err
		}
		ct.peak = max(ct.peak, peakOf(n))
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
