package openrath

import (
	"encoding/hex"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
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

// Admit refuses lines after the trailer, because OpenRath's writer is closed by
// then, a trailer that counts other chunks than there are, and a chunk whose index
// is not a whole number from 0 on.
func (Dialect) Admit(s core.Admission, e core.Entry) error {
	if !s.Last.Aside {
		if e.Aside {
			return checkCount(e, s.Count())
		}
		return checkIndex(e)
	}
	return fmt.Errorf("session %s is closed, its last line is the trailer; continue it in a fork: %w", jsonl.Clip(s.Header.ID, 64), core.ErrInvalid)
}

// checkCount refuses a trailer that says that the session has another number of
// chunks than n.
func checkCount(e core.Entry, n int) error {
	o, err := readRecord(e.Line)
	if err != nil {
		return err
	}
	v := o.Get("final_chunk_count")
	if f, ok := v.Number(); v == nil || ok && f == float64(n) {
		return nil
	}
	return fmt.Errorf("final_chunk_count is %s, the session has another number of chunks, %d: %w", jsonl.Clip(string(v), 40), n, core.ErrInvalid)
}

func checkIndex(e core.Entry) error {
	o, err := readRecord(e.Line)
	if err != nil {
		return err
	}
	if v := o.Get("index"); v != nil && indexText(v) == "" {
		return fmt.Errorf("index is %s, not a whole number from 0 on: %w", jsonl.Clip(string(v), 40), core.ErrInvalid)
	}
	return nil
}

// CheckHeader refuses an id that is not a UUID, with which OpenRath does not load
// the session, one in another spelling than OpenRath's, and a kind that it does not
// have and would read as unknown.
func (Dialect) CheckHeader(h core.Header) error {
	if _, ok := canonicalUUID(h.ID); !ok {
		return fmt.Errorf("the id %.64q is not a UUID, OpenRath would not load the session: %w", h.ID, core.ErrInvalid)
	}
	o, err := readRecord(h.Line)
	if err != nil {
		return err
	}
	if written := o.Get("id"); !written.Is(h.ID) {
		return fmt.Errorf("the id is %s, which OpenRath spells %q: %w", jsonl.Clip(string(written), 64), h.ID, core.ErrInvalid)
	}
	v := o.Get("lineage_kind")
	if kind, _ := v.Text(); v == nil || LineageKind(kind) == LineageUnknown || LineageKind(kind).known() != LineageUnknown {
		return nil
	}
	return fmt.Errorf("lineage_kind %s is not one of %s: %w", jsonl.Clip(string(v), 40), lineageKinds, core.ErrInvalid)
}
