package image

import (
	"bytes"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/images"
)

// Escape returns line with every image that begins with "blob:" marked as the
// agent's own text. The log keeps a header's line as the agent wrote it; escaped, it
// can be passed to Inline like the lines that Externalize returned.
func Escape(line []byte) []byte {
	return escape(line, func([]byte) bool { return true })
}

// EscapeForeign returns line with those references marked as the agent's own text
// that own does not report. It is for JSON that was made of lines that the log
// stores: a text that only looks like a reference may have become an image there.
func EscapeForeign(line []byte, own func(core.Digest) bool) []byte {
	return escape(line, func(data []byte) bool {
		d, err := blobOf(data)
		return err == nil && !own(d)
	})
}

// EscapeForeignLines is EscapeForeign for the lines of es, which it replaces.
func EscapeForeignLines(es []core.Entry, own func(core.Digest) bool) {
	for i := range es {
		es[i].Line = EscapeForeign(es[i].Line, own)
	}
}

func escape(line []byte, isText func(data []byte) bool) []byte {
	if !bytes.Contains(line, []byte(images.AnyPrefix)) || !mayHoldImage(line) {
		return line
	}
	out, _ := images.Rewrite(line, func(data []byte) ([]byte, error) {
		if !bytes.HasPrefix(data, []byte(images.AnyPrefix)) || !isText(data) {
			return nil, nil
		}
		return slices.Concat([]byte(images.KeepPrefix), data), nil
	})
	return out
}

// OwnBlobs returns a function that reports whether one of the lines of all, as the
// log stores them, keeps an image with a digest elsewhere. It reads the lines at its
// first call.
func OwnBlobs(all ...[]core.Entry) func(core.Digest) bool {
	var own map[core.Digest]bool
	return func(d core.Digest) bool {
		if own == nil {
			own = map[core.Digest]bool{}
			for _, es := range all {
				for i := range es {
					for _, d := range core.BlobsOf(es[i].Line) {
						own[d] = true
					}
				}
			}
		}
		return own[d]
	}
}
