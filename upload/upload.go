package upload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/core"
)

// What can go wrong with an upload and with nothing else.
var (
	// ErrGone: there is no such upload on this node, or not of this owner. It was
	// never begun here, was removed, or its time is over.
	ErrGone = fmt.Errorf("no such upload: %w", core.ErrNotFound)
	// ErrNoRoom: the owner, or all owners together, have as many uploads or as
	// many bytes of them as are allowed.
	ErrNoRoom = errors.New("no room for another upload")
	// ErrOffset: bytes came for another place than where the upload ends.
	ErrOffset = errors.New("the upload ends elsewhere")
	// ErrDigest: the bytes are all there, and are not those that were announced.
	ErrDigest = errors.New("the bytes are other ones")
)

// An Upload is bytes on their way.
type Upload struct {
	ID      string      `json:"id"`
	Owner   string      `json:"owner"` // who may see it
	SHA256  core.Digest `json:"sha256"`
	Size    int64       `json:"size"` // of the whole, in bytes
	Expires time.Time   `json:"expires"`
	Offset  int64       `json:"-"` // how many bytes are there, flushed
}

// Whole reports whether all bytes are there. They are not checked yet.
func (u Upload) Whole() bool { return u.Offset == u.Size }

// idOf is the same for the same bytes of the same owner, on every node.
func idOf(owner string, d core.Digest, size int64) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(owner)) + "\x00" + owner + "\x00" + d.String() + "\x00" + strconv.FormatInt(size, 10)))
	return hex.EncodeToString(sum[:16])
}

// validID reports whether id is one that idOf could have made, and so is safe as
// the name of a file.
func validID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16 && hex.EncodeToString(b) == id
}

func notHere(id string) error {
	return fmt.Errorf("upload %.64q on this node: %w", id, ErrGone)
}
