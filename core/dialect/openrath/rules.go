package openrath

import (
	"encoding/hex"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// Keeps is true: OpenRath writes the header as soon as it opens a file.
func (Dialect) Keeps([]core.Entry) bool { return true }

// EntryID is a random UUID, as OpenRath's own ids are.
func (Dialect) EntryID(random [16]byte) string {
	random[6] = random[6]&0x0F | 0x40
	random[8] = random[8]&0x3F | 0x80
	return uuidText(random)
}

func uuidText(b [16]byte) string {
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Admit refuses lines after the trailer: OpenRath's writer is closed by then.
func (Dialect) Admit(s core.Admission, _ core.Entry) error {
	if !s.Last.Aside {
		return nil
	}
	return fmt.Errorf("session %s is closed, its last line is the trailer; continue it in a fork: %w", clip(s.Header.ID, 64), core.ErrInvalid)
}
