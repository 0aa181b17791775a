package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core/report"
)

// overdue is after how many graces a blob should have been deleted from the trash.
const overdue = 3

// blobs counts the blobs in the bucket. Only a run of the collector, which reads
// every session, can tell which are unreferenced.
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
		f.add(report.Note, "blobs", fmt.Sprintf("%s in the trash should have been deleted long ago, %s: no collector runs", count(late, "copy", "copies"), sizeOf(lateBytes)),
			"sessctl blobs gc --yes, every day, or the setting blobs.collect")
	}
	return fmt.Sprintf("%s, %s; %d in the trash", count(blobs, "blob", "blobs"), sizeOf(bytes), copies), nil
}

const (
	auditWarn   = 0.8 // share of the capacity for audit records
	auditDanger = 0.95
)

// audit checks the capacity for audit records: when it is exhausted, whatever needs
// a record is refused.
func (d *Doctor) audit(ctx context.Context, f *finder) (string, error) {
	if d.Audit == nil {
		return "none are kept", nil
	}
	used, most, err := d.Audit.Capacity(ctx)
	if err != nil {
		return "", err
	}
	if most == 0 {
		return count(int(used), "record", "records"), nil
	}
	d.auditRoom(f, used, most)
	return fmt.Sprintf("%s, the limit is %d", count(int(used), "record", "records"), most), nil
}

func (d *Doctor) auditRoom(f *finder, used, most uint64) {
	level := report.Level("")
	switch share := float64(used) / float64(most); {
	case share >= auditDanger:
		level = report.Danger
	case share >= auditWarn:
		level = report.Warning
	default:
		return
	}
	f.add(level, "audit records", fmt.Sprintf("there are %d, the limit is %d; at the limit nothing can be erased, redacted or deleted permanently", used, most),
		"keep them (sessctl audit -o json) and give the stream more max_msgs with a tool of NATS")
}
