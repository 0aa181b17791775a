package server_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

// withPicture returns a session file with one image, and that image.
func withPicture() (text string, pixels []byte) {
	pixels = []byte(strings.Repeat("pixels", 300))
	image := base64.StdEncoding.EncodeToString(pixels)
	return file(header, `{"type":"message","id":"b","parentId":null,"timestamp":"t","message":{"role":"user","content":[{"type":"image","data":"`+image+`"}]}}`), pixels
}

// spoil flips a bit of the stored blob p.
func (n *node) spoil(t *testing.T, p []byte) {
	t.Helper()
	key := blobstore.RefOf(p).Key()
	p = bytes.Clone(p)
	p[len(p)/2] ^= 1
	if err := n.Bucket.Put(t.Context(), key, bytes.NewReader(p), int64(len(p))); err != nil {
		t.Fatal(err)
	}
}

func TestReimportRepairsDamagedBlobs(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	text, pixels := withPicture()
	text += "no JSON at all\n" // so that the original file is kept
	n.importText(t, text)
	rep, err := n.Verify(t.Context(), "session-one")
	if err != nil || rep.Blobs != 2 || len(rep.Problems) != 0 {
		t.Fatalf("verify: %+v, %v", rep, err)
	}
	n.spoil(t, pixels)
	n.spoil(t, []byte(text))
	if rep, err = n.Verify(t.Context(), "session-one"); err != nil || len(rep.Problems) != 2 {
		t.Fatalf("damage of the same size: %+v, %v", rep, err)
	}
	if again := n.importText(t, text); again.Created || again.Entries != 0 {
		t.Errorf("again: %+v", again)
	}
	if rep, err = n.Verify(t.Context(), "session-one"); err != nil || len(rep.Problems) != 0 {
		t.Errorf("after importing again: %+v, %v", rep, err)
	}
}

func TestBlobIsRepairedFromNodeCopy(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	text, pixels := withPicture()
	n.importText(t, text)
	d := core.DigestOf(pixels)
	look := func(what func() (api.BlobReport, error), want api.BlobState, repaired bool) {
		t.Helper()
		rep, err := what()
		if err != nil || rep.State != want || rep.Repaired != repaired || rep.Digest != d || (want == api.BlobSound) != (rep.Next == "") {
			t.Errorf("%+v, %v; want %s, repaired %v", rep, err, want, repaired)
		}
	}
	verify := func() (api.BlobReport, error) { return n.VerifyBlob(t.Context(), d) }
	repair := func() (api.BlobReport, error) { return n.RepairBlob(t.Context(), d) }
	look(verify, api.BlobSound, false)
	n.spoil(t, pixels)
	look(verify, api.BlobDamaged, false)
	look(repair, api.BlobDamaged, false) // no copy exists
	if err := n.PutBlob(t.Context(), pixels); err != nil {
		t.Fatal(err)
	}
	look(verify, api.BlobSound, false)
	if st, err := n.BlobStat(t.Context(), d); err != nil || st.Cached || st.Size != int64(len(pixels)) || !slices.Equal(st.Sessions, []core.SessionID{"session-one"}) {
		t.Errorf("stat: %+v, %v", st, err)
	}
	r, err := n.Export(t.Context(), "session-one", false)
	read(t, r, err) // the node now has a copy in memory
	n.spoil(t, pixels)
	look(verify, api.BlobDamaged, false)
	look(repair, api.BlobSound, true)
	look(repair, api.BlobSound, false)
	if err := n.Bucket.Delete(t.Context(), blobstore.Ref(d).Key()); err != nil {
		t.Fatal(err)
	}
	look(verify, api.BlobMissing, false)
	look(repair, api.BlobSound, true)

	none := core.DigestOf([]byte("none"))
	if _, err := n.BlobStat(t.Context(), none); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("stat of a missing blob: %v", err)
	}
	if rep, err := n.VerifyBlob(t.Context(), none); err != nil || rep.State != api.BlobMissing {
		t.Errorf("verify of a missing blob: %+v, %v", rep, err)
	}
	if st, err := n.Status(t.Context()); err != nil || st.BlobCache.Memory.Hits == 0 || st.BlobPuts.Written == 0 {
		t.Errorf("status: %+v, %v", st, err)
	}
}

func TestBlobsAreListedInPages(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	want := map[core.Digest]bool{}
	for i := range 60 {
		p := fmt.Append(nil, i)
		want[core.DigestOf(p)] = true
		if err := n.PutBlob(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	after, pages := "", 0
	var last string
	for {
		page, err := n.Blobs(t.Context(), after, 7)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, b := range page.Blobs {
			if !want[b.Digest] || b.Digest.String() <= last {
				t.Errorf("%s follows %s", b.Digest, last)
			}
			last = b.Digest.String()
			delete(want, b.Digest)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(want) != 0 || pages != 9 {
		t.Errorf("%d are missing, %d pages", len(want), pages)
	}
	if _, err := n.Blobs(t.Context(), "nonsense", 7); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("after an invalid digest: %v", err)
	}
}
