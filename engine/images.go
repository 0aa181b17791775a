package engine

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/storage"
)

// The blob collector leaves new blobs alone for half of its grace period. A write that takes
// longer stores them again.

// RenewImages stores the images of es again if more than half of Config.Grace has
// passed since began, when StoreImages stored them: the blob collector may have
// deleted them. The caller calls it after the record is stored. On error it must
// repeat the write.
func (ss *Sessions) RenewImages(ctx context.Context, began time.Time, es []core.Entry) error {
	if !storage.GraceSpent(ss.cfg.Now(), began, ss.cfg.Grace) {
		return nil
	}
	for i := range es {
		_, blobs := image.Externalize(es[i].Line)
		for _, b := range blobs {
			if _, err := ss.cfg.Blobs.Put(ctx, b.Bytes); err != nil {
				return fmt.Errorf("entry %q is stored, but not its image %s; repeat the request: %v: %w", es[i].ID, b.Digest, err, core.ErrUnavailable)
			}
		}
	}
	return nil
}

// renewLines is RenewImages for lines.
func (ss *Sessions) renewLines(ctx context.Context, began time.Time, lines [][]byte) error {
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		es[i].Line = line
	}
	return ss.RenewImages(ctx, began, es)
}

// renewBlobs stores the images that a body names again: the log had lost the record,
// so the collector may delete them. Missing images are logged; their lines are kept.
func (ss *Sessions) renewBlobs(ctx context.Context, id core.SessionID, body []byte) {
	for d := range BlobRefs(body) {
		b, err := ss.cfg.Blobs.Get(ctx, d)
		if err == nil {
			_, err = ss.cfg.Blobs.Put(ctx, b)
		}
		if err != nil {
			ss.cfg.Logger.Warn("cannot keep an image of a repaired record", "session", id, "blob", d, "err", err)
		}
	}
}

// BlobRefs returns the digests in text of the form "blob:sha256:<64 hex digits>",
// wherever they are: images that the log keeps, references of an agent, or plain
// text. Each names a blob, if it exists.
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
