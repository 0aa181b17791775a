package durablestreams

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

// Prefix is where streams are served. What follows is the path of a stream.
const Prefix = "/v1/stream/"

const (
	maxPath = 1024
	// maxName is how many characters of an encoded path a session's id has.
	maxName = 80
)

// checkPath returns a 400 unless path can name a stream, and a 404 for the paths that the
// protocol reserves.
func checkPath(path string) error {
	if path == "" || len(path) > maxPath || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return refuse(http.StatusBadRequest, "the path of a stream has 1 to %d bytes of printable UTF-8", maxPath)
	}
	if isReserved(path) {
		return refuse(http.StatusNotFound, "paths below __ds/ are reserved for subscriptions")
	}
	return nil
}

// isReserved reports whether the protocol reserves a path.
func isReserved(path string) bool { return path == "__ds" || strings.HasPrefix(path, "__ds/") }

// SessionID returns the session of a generation of a stream, from 1: "ds-" and the path,
// in which a slash is "__" and any byte besides letters, digits and "-" is "_" and two hex
// digits. The end of a long path is replaced by its hash.
func SessionID(path string, generation int) core.SessionID {
	var b strings.Builder
	b.WriteString(IDPrefix)
	for i := range len(path) {
		switch c := path[i]; {
		case c == '/':
			b.WriteString("__")
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	name := b.String()
	if len(name) > maxName || len(name) < 8 {
		sum := sha256.Sum256([]byte(path))
		name = name[:min(len(name), maxName-26)] + "_h" + hex.EncodeToString(sum[:12])
	}
	if generation > 1 {
		name += fmt.Sprintf("_g%d", generation)
	}
	return core.SessionID(name)
}
