package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// Faults of the object store during puts.
func TestObjectStoreOutageRejectsOnlyAppendsThatNeedIt(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	node := harness.StartNode(t, append(store.Args(), "--snapshots-idle", "1s")...)
	c := node.Client()
	texts := write(t, newSession(t, c), 3, through(node))
	pictures := newSession(t, c)
	say(t, c, pictures, "before", client.AppendOptions{})
	var f figures

	// Parts of the messages that the user gets besides the name of the fault.
	told := map[fault]string{
		answers5: "check its log", busy: "is overloaded", limited: "is overloaded", gone: "create it or correct its name",
		denied: "allow the credentials to list the bucket", skewed: "set the clock",
	}
	for n, kind := range []fault{down, answers5, busy, limited, gone, denied, skewed, tornIn, flipIn} {
		before := countOf(t, c, pictures)
		store.do(kind, "")
		f.fault(string(kind))
		image := harness.ImageMessage(uint64(n), fmt.Sprint("picture ", n), 5000)
		key := client.AppendOptions{Key: fmt.Sprint("picture ", n)}
		_, err := c.Append(harness.Timeout(t), pictures, []byte(image), key)
		e, ok := errors.AsType[*client.Error](err)
		switch {
		case !ok || e.Detail.Line != 1 || !strings.Contains(e.Detail.Detail, "blobs/sha256/"):
			t.Errorf("%s: an append with an image: %v", kind, err)
		case e.Detail.Code != "unavailable" || !strings.Contains(e.Detail.Detail, told[kind]):
			t.Errorf("%s: an append with an image: %s, %s", kind, e.Detail.Code, e.Detail.Detail)
		default:
			t.Logf("%s: told: %s; %s", kind, e.Detail.Detail, e.Detail.Next)
		}
		if store.met() == 0 {
			t.Errorf("%s: nothing asked the object store", kind)
		}
		if now := countOf(t, c, pictures); now != before {
			t.Errorf("%s: the session went from %d to %d entries by an append that was refused", kind, before, now)
		}
		say(t, c, pictures, fmt.Sprint("without a picture ", n), client.AppendOptions{})
		texts.await(20)                       // the others continue
		if kind != flipIn && kind != tornIn { // these corrupt only puts
			complains(t, node, "object store")
		}
		store.do(none, "")
		if _, err := c.Append(harness.Timeout(t), pictures, []byte(image), key); err != nil {
			t.Errorf("%s: retry after the fault: %v", kind, err)
		}
	}

	store.do(slow, "")
	f.fault(string(slow))
	image := harness.ImageMessage(99, "late", 5000)
	if _, err := c.Append(harness.Timeout(t), pictures, []byte(image), client.AppendOptions{}); err != nil {
		t.Errorf("a slow object store: %v", err)
	}
	texts.await(20)
	store.do(none, "")

	texts.leave()
	f.add(t, texts, mustExport(t, c, texts.id))
	intact(t, c, texts.id)
	if got := len(entriesOf(t, mustExport(t, c, pictures))); got != 20 {
		t.Errorf("%d entries in the session with the images, want 20", got)
	}
	intact(t, c, pictures)
	healthy(t, node)
	f.report(t)
}

// complains returns once the node's status contains one of these words. It may report
// other problems during an election.
func complains(t *testing.T, n *harness.Node, words ...string) {
	t.Helper()
	harness.Await(t, "status speaks of the fault", func() error {
		s, err := n.Client().Status(harness.Timeout(t))
		if err == nil && (s.Healthy || !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.Summary, w) })) {
			err = fmt.Errorf("healthy %v, %s", s.Healthy, s.Summary)
		}
		return err
	})
}

// healthy returns once the node reports that it is healthy.
func healthy(t *testing.T, n *harness.Node) {
	t.Helper()
	harness.Await(t, "the node is healthy", func() error {
		s, err := n.Client().Status(harness.Timeout(t))
		if err == nil && !s.Healthy {
			err = errors.New(s.Summary)
		}
		return err
	})
}

func TestSnapshotsAreWrittenAfterObjectStoreOutage(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	node := harness.StartNode(t, append(store.Args(), "--snapshots-idle", "100ms")...)
	c := node.Client()
	store.do(down, "")
	id := newSession(t, c)
	say(t, c, id, "no snapshot of this yet", client.AppendOptions{})
	harness.Await(t, "a snapshot is tried", func() error {
		if !strings.Contains(node.Log(), "snapshot not written") {
			return errors.New("the log says nothing of it")
		}
		return nil
	})
	if _, err := c.Checkpoint(harness.Timeout(t), id); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("a snapshot that is asked for: %v", err)
	}
	if info, err := c.Info(harness.Timeout(t), id); err != nil || info.Log.Checkpoint != 0 {
		t.Errorf("the session has a checkpoint at %d, %v", info.Log.Checkpoint, err)
	}
	store.do(none, "")
	harness.Await(t, "the snapshot", func() error {
		info, err := c.Info(harness.Timeout(t), id)
		if err == nil && info.Log.Checkpoint == 0 {
			err = errors.New("none yet")
		}
		return err
	})
	intact(t, c, id)
}

// Faults of the object store during gets.
func TestCorruptObjectsAreNeverServed(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	node := harness.StartNode(t, store.Args()...)
	c := node.Client()
	file := harness.Generate(chance(t).Uint64(), harness.Shape{Turns: 20, Images: 2})
	imported, err := c.Import(harness.Timeout(t), bytes.NewReader(file.Bytes), int64(len(file.Bytes)), client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id := string(imported.Session)
	mustExport(t, c, id) // gives the proxy an object to return for another

	for _, kind := range []fault{flip, cut, missing, old, down, answers5, busy, slow} {
		store.do(kind, "blobs/sha256")
		got, err := export(t, c, id)
		met := store.met()
		r, verr := c.Verify(harness.Timeout(t), id)
		store.do(none, "")
		if err == nil && !bytes.Equal(got, file.Bytes) {
			t.Errorf("%s: the export is not what was imported, and nothing says so", kind)
		}
		if met == 0 {
			t.Errorf("%s: nothing asked the object store", kind)
		}
		switch kind {
		case flip, missing, old:
			bad := 2
			if kind == old {
				bad = 1 // the other object is returned for both
			}
			if e, ok := errors.AsType[*client.Error](err); !ok || e.Detail.Code != "corrupt" || !strings.Contains(e.Detail.Detail, "image sha256:") {
				t.Errorf("%s: an export without its images: %v", kind, err)
			}
			if verr != nil || len(r.Problems) != bad || r.Problems[0].Kind != "blob" || !strings.HasPrefix(r.Problems[0].What, "sha256:") {
				t.Errorf("%s: verify finds %+v, %v", kind, r.Problems, verr)
			}
		case slow:
			if err != nil || verr != nil || len(r.Problems) != 0 {
				t.Errorf("%s: %v; verify: %v, %+v", kind, err, verr, r.Problems)
			}
		default:
			if !errors.Is(err, core.ErrUnavailable) || !errors.Is(verr, core.ErrUnavailable) {
				t.Errorf("%s: %v; verify: %v; this is no damage", kind, err, verr)
			}
		}
	}
	if got := mustExport(t, c, id); !bytes.Equal(got, file.Bytes) {
		t.Error("after all faults, the export differs from the import")
	}
	intact(t, c, id)
}

// A snapshot only speeds up reading; the records contain everything.
func TestUnusableSnapshotIsReplacedByRecords(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	node := harness.StartNode(t, store.Args()...)
	c := node.Client()
	id := newSession(t, c)
	var snaps []api.Snapshot
	for n := range 2 {
		say(t, c, id, fmt.Sprint("covered ", n), client.AppendOptions{})
		snap, err := c.Checkpoint(harness.Timeout(t), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Snapshot(harness.Timeout(t), id); err != nil { // the proxy sees it
			t.Fatal(err)
		}
		snaps = append(snaps, snap)
	}
	say(t, c, id, "behind it", client.AppendOptions{})
	want := mustExport(t, c, id)

	for _, kind := range []fault{flip, missing, old, cut, down} {
		store.do(kind, snaps[1].Object)
		node.Kill() // state in memory needs no snapshot
		node.Start(t)
		got, err := export(t, c, id)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: read without its snapshot: %v; %d bytes, want %d", kind, err, len(got), len(want))
		}
		if store.met() == 0 {
			t.Errorf("%s: nothing asked for the snapshot", kind)
		}
		plain, _, err := c.Snapshot(harness.Timeout(t), id)
		if err == nil {
			t.Errorf("%s: a snapshot of %d bytes is handed out", kind, len(plain))
		}
		r, err := c.Verify(harness.Timeout(t), id)
		switch kind {
		case flip, missing, old:
			if err != nil || len(r.Problems) != 1 || r.Problems[0].Kind != "snapshot" || r.Problems[0].What != snaps[1].Object {
				t.Errorf("%s: verify finds %+v, %v", kind, r.Problems, err)
			}
		default:
			if !errors.Is(err, core.ErrUnavailable) {
				t.Errorf("%s: verify: %v, %+v", kind, err, r.Problems)
			}
		}
		say(t, c, id, "said "+string(kind), client.AppendOptions{})
		store.do(none, "")
		want = mustExport(t, c, id)
		intact(t, c, id)
	}
}

func TestNodeStartsWithoutObjectStore(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	node := harness.StartNode(t, store.Args()...)
	c := node.Client()
	texts, pictures := newSession(t, c), newSession(t, c)
	say(t, c, texts, "before", client.AppendOptions{})
	image := harness.ImageMessage(1, "look", 5000)
	if _, err := c.Append(harness.Timeout(t), pictures, []byte(image), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	want := mustExport(t, c, pictures)
	node.Kill()

	store.do(down, "")
	node.Start(t)
	t.Logf("ready without the object store in %v", node.ReadyIn)
	complains(t, node, "object store")
	if got := readyz(t, node); !strings.HasPrefix(got, "200 ready, but without its object store: ") {
		t.Errorf("readyz: %s", got)
	}
	say(t, c, texts, "meanwhile", client.AppendOptions{})
	if es := entriesOf(t, mustExport(t, c, texts)); len(es) != 2 {
		t.Errorf("%d entries", len(es))
	}
	say(t, c, pictures, "no picture", client.AppendOptions{})
	if _, err := c.Tree(harness.Timeout(t), pictures); err != nil {
		t.Errorf("the tree of a session with an image: %v", err)
	}
	if _, err := export(t, c, pictures); err == nil {
		t.Error("an export without its image")
	}
	if list, err := c.List(harness.Timeout(t), catalog.Filter{}); err != nil || len(list.Sessions) != 2 {
		t.Errorf("listed: %+v, %v", list, err)
	}

	store.do(none, "")
	harness.Await(t, "the object store is seen again", func() error {
		if !strings.Contains(node.Log(), "the object store is available again") {
			return errors.New("the log says nothing of it")
		}
		return nil
	})
	healthy(t, node)
	if got := readyz(t, node); got != "200 ready\n" {
		t.Errorf("readyz: %s", got)
	}
	if got := mustExport(t, c, pictures); !bytes.HasPrefix(got, want) {
		t.Error("the image is not served after the outage")
	}
	intact(t, c, pictures)
}

func TestNodeDoesNotStartIfObjectStoreRejectsIt(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	for name, args := range map[string][]string{
		"SignatureDoesNotMatch": {"SESS_BLOBS_S3_SECRET_KEY=wrong"},
		"NoSuchBucket":          {"--blobs-s3-bucket", "another"},
	} {
		r := harness.NewNode(t, append(store.Args(), args...)...).Run(t)
		if r.Code != 1 || !strings.Contains(r.Err, name) || strings.Contains(r.Err, store.SecretKey) {
			t.Errorf("%s: %s", name, r)
		}
	}
}

func TestNodeStartsWithUntrustedObjectStoreAndReportsRemedy(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	args := append(store.Args(), "--blobs-s3-endpoint", store.Endpoint) // TLS without a trusted CA
	node := harness.StartNode(t, args...)
	c := node.Client()
	complains(t, node, "signed by an untrusted authority; set the CA file")
	if got := readyz(t, node); !strings.Contains(got, "signed by an untrusted authority; set the CA file") {
		t.Errorf("readyz: %s", got)
	}
	id := newSession(t, c)
	say(t, c, id, "no picture", client.AppendOptions{})

	trusting := harness.StartNode(t, append(args, "--blobs-s3-ca", store.CAFile)...)
	pictures := newSession(t, trusting.Client())
	if _, err := trusting.Client().Append(harness.Timeout(t), pictures, []byte(harness.ImageMessage(1, "look", 5000)), client.AppendOptions{}); err != nil {
		t.Error(err)
	}
	healthy(t, trusting)
}

// readyz returns the node's readiness answer.
func readyz(t *testing.T, n *harness.Node) string {
	t.Helper()
	req, err := http.NewRequestWithContext(harness.Timeout(t), http.MethodGet, n.URL+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, b)
}

// A store that does not answer delays only requests that need it, and not beyond their
// timeout.
func TestHangingObjectStoreDelaysOnlyRequestsThatNeedIt(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	node := harness.StartNode(t, append(store.Args(), "--snapshots-idle", "200ms")...)
	c := node.Client()
	texts := write(t, newSession(t, c), 3, through(node))
	pictures := newSession(t, c)
	store.do(hangs, "")
	for n := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		_, err := c.Append(ctx, pictures, []byte(harness.ImageMessage(uint64(n), "look", 5000)), client.AppendOptions{Key: fmt.Sprint(n)})
		cancel()
		if err == nil {
			t.Error("an image was stored although the store does not answer")
		}
	}
	if store.met() == 0 {
		t.Error("nothing asked the object store")
	}
	texts.await(20)
	complains(t, node, "object store")
	store.do(none, "")
	for n := range 4 {
		if _, err := c.Append(harness.Timeout(t), pictures, []byte(harness.ImageMessage(uint64(n), "look", 5000)), client.AppendOptions{Key: fmt.Sprint(n)}); err != nil {
			t.Errorf("retry: %v", err)
		}
	}
	texts.leave()
	if got := len(entriesOf(t, mustExport(t, c, pictures))); got != 4 {
		t.Errorf("%d entries, want 4", got)
	}
	intact(t, c, pictures)
	intact(t, c, texts.id)
	healthy(t, node)
}

// Recently read blobs are served from the node's disk cache while the object store is
// down, also after a restart. Corrupt files of the cache are never served.
func TestCachedBlobsAreServedWithoutObjectStore(t *testing.T) {
	t.Parallel()
	store := startProxy(t)
	node := harness.StartNode(t, append(store.Args(), "--blobs-disk", "64MiB")...)
	c := node.Client()
	file := harness.Generate(chance(t).Uint64(), harness.Shape{Turns: 20, Images: 2})
	imported, err := c.Import(harness.Timeout(t), bytes.NewReader(file.Bytes), int64(len(file.Bytes)), client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id := string(imported.Session)
	if _, err := c.Checkpoint(harness.Timeout(t), id); err != nil {
		t.Fatal(err)
	}
	node.Kill()
	node.Start(t)
	mustExport(t, c, id) // reads the snapshot and the images
	node.Kill()

	store.do(down, "")
	node.Start(t)
	if got, err := export(t, c, id); err != nil || !bytes.Equal(got, file.Bytes) {
		t.Errorf("without the object store: %d bytes, %v", len(got), err)
	}
	s, err := c.Status(harness.Timeout(t))
	if err != nil || s.BlobCache.Disk.Hits < 3 || s.BlobCache.Disk.Objects < 3 {
		t.Errorf("status: %+v, %v", s.BlobCache, err)
	}
	if _, err := c.Verify(harness.Timeout(t), id); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("verify looks at the disk here, not at the store: %v", err)
	}
	node.Kill()
	store.do(none, "")
	kept, err := filepath.Glob(filepath.Join(node.Data, "blob-cache", "*"))
	if err != nil || len(kept) < 3 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	for _, path := range kept {
		b := testkit.ReadFile(t, path)
		b[len(b)/2] ^= 1
		testkit.WriteFile(t, path, b)
	}
	node.Start(t)
	if got := mustExport(t, c, id); !bytes.Equal(got, file.Bytes) {
		t.Error("damage on the node's disk is served")
	}
	if s, err = c.Status(harness.Timeout(t)); err != nil || s.BlobCache.Disk.Damaged < 3 {
		t.Errorf("status: %+v, %v", s.BlobCache, err)
	}
	intact(t, c, id)
}
