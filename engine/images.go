package engine

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
)

// What is put is left alone by the collector of blobs for half its grace, which
// is time to store the record that names it. Whoever takes longer puts it again.

// RenewImages has the images of es, as they were given to Keep at began, there once
// more, if their record took so long that the collector may have come between. It
// is called once the record is stored; after an error that is still so, and the
// same write again puts them.
func (ss *Sessions) RenewImages(ctx context.Context, began time.Time, es []core.Entry) error {
	if !core.GraceSpent(ss.cfg.Now(), began, ss.cfg.Grace) {
		return nil
	}
	for i := range es {
		_, blobs := core.Externalize(es[i].Line)
		for _, b := range blobs {
			if _, err := ss.cfg.Blobs.Put(ctx, b.Bytes); err != nil {
				return fmt.Errorf("entry %q is stored, its image %s is to be put again: %v: %w", es[i].ID, b.Digest, err, core.ErrUnavailable)
			}
		}
	}
	return nil
}

// renewLines is Renew for lines.
func (ss *Sessions) renewLines(ctx context.Context, began time.Time, lines [][]byte) error {
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		es[i].Line = line
	}
	return ss.RenewImages(ctx, began, es)
}

// revive has the images that a body names be young, as far as they are still
// there: a record that the log had lost is about to name them again, and while it
// was lost nobody did. What is gone is no reason to lose the lines, too.
func (ss *Sessions) renewBlobs(ctx context.Context, id core.SessionID, body []byte) {
	for d := range BlobRefs(body) {
		b, err := ss.cfg.Blobs.Get(ctx, d)
		if err == nil {
			_, err = ss.cfg.Blobs.Put(ctx, b)
		}
		if err != nil {
			ss.cfg.Logger.Warn("an image of a record that is put back cannot be kept", "session", id, "blob", d, "err", err)
		}
	}
}

// BlobRefs returns the digests that text speaks of as "blob:sha256:<64 hex
// digits>", wherever that stands: as images that the log keeps elsewhere, as
// references of the agent's own, or as mere words. Each names a blob, if there is
// one.
func BlobRefs(text []byte) map[core.Digest]bool {
	mark := []byte("blob:sha256:")
	found := map[core.Digest]bool{}
	for {
		i := bytes.Index(text, mark)
		if i < 0 {
			return found
		}
		text = text[i+len(mark):]
		if len(text) < hex.EncodedLen(len(core.Digest{})) {
			return found
		}
		if d, err := core.ParseDigest("sha256:" + string(text[:hex.EncodedLen(len(core.Digest{}))])); err == nil {
			found[d] = true
		}
	}
}
