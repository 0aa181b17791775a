package doctor

import (
	"context"
	"fmt"
	"time"
)

// overdue is how many graces a blob may lie in the trash before somebody should
// have deleted it.
const overdue = 3

// blobs counts what the bucket has. Which of it no session names only a run of
// the collector can tell, which reads every session.
func (d *Doctor) blobs(ctx context.Context, f *finder) (string, error) {
	var blobs, copies, late int
	var bytes, lateBytes int64
	for b, err := range d.Blobs.List(ctx) {
		if err != nil {
			return "", err
		}
		blobs++
		bytes += b.Size
	}
	before := time.Now().Add(-overdue * d.Blobs.Grace())
	for t, err := range d.Blobs.Trash(ctx) {
		if err != nil {
			return "", err
		}
		copies++
		if t.At.Before(before) {
			late++
			lateBytes += t.Size
		}
	}
	if late > 0 {
		f.add(Note, "blobs", fmt.Sprintf("%s in the trash could have been deleted for long, %s: nobody collects", count(late, "copy", "copies"), sizeOf(lateBytes)),
			"sessctl blobs gc --apply, every day, or the setting blobs.collect")
	}
	return fmt.Sprintf("%s, %s; %d in the trash", count(blobs, "blob", "blobs"), sizeOf(bytes), copies), nil
}

const (
	auditWarn   = 0.8 // of the room for audit records is taken
	auditDanger = 0.95
)

// audit looks how much room there is for audit records: without, nothing that
// needs one is done any more.
func (d *Doctor) audit(ctx context.Context, f *finder) (string, error) {
	if d.Audit == nil {
		return "none are kept", nil
	}
	used, most, err := d.Audit.Room(ctx)
	if err != nil {
		return "", err
	}
	if most == 0 {
		return count(int(used), "record", "records"), nil
	}
	d.auditRoom(f, used, most)
	return fmt.Sprintf("%s, there is room for %d", count(int(used), "record", "records"), most), nil
}

func (d *Doctor) auditRoom(f *finder, used, most uint64) {
	level := Level("")
	switch share := float64(used) / float64(most); {
	case share >= auditDanger:
		level = Danger
	case share >= auditWarn:
		level = Warning
	default:
		return
	}
	f.add(level, "audit records", fmt.Sprintf("there are %d, and room for %d; without room nothing is erased, redacted or deleted for good", used, most),
		"keep them (sessctl audit -o json) and give the stream more max_msgs with a tool of NATS")
}
