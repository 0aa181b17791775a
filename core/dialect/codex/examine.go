package codex

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/optional"
)

// An examiner reads the files of a session as Codex does when it resumes it.
type examiner struct {
	optional.Examination
	refuses bool // Codex does not resume the session
	whole   [][]byte
	unread  int // items inside of lines that Codex skips
}

// Examine implements optional.Examiner. Messages are the items of the thread: what was
// said, and calls and their results. Codex continues no branches, so there is
// nothing to join.
func (d Dialect) Examine(main string, files map[string][]byte, _ bool) (optional.Examination, error) {
	var all []bundle.File
	for _, path := range slices.Sorted(maps.Keys(files)) {
		all = append(all, bundle.File{Path: path, Data: files[path]})
	}
	f, err := d.Pack(main, all)
	if err != nil {
		return optional.Examination{}, err
	}
	t, err := readThread(f.Entries)
	if err != nil {
		return optional.Examination{}, err
	}
	x := &examiner{}
	r := t.newest()
	if r == nil {
		return x.Examination, nil
	}
	for path := range files {
		if name, ok := parseRolloutName(path); ok && name == r.name {
			x.File = path
		}
	}
	x.lines(r)
	x.bases(t, r)
	x.count(t.chain(r))
	return x.Examination, nil
}

func (x *examiner) fault(kind optional.FaultKind, line int, repair optional.Repair, form string, args ...any) {
	x.Faults = append(x.Faults, optional.Fault{Kind: kind, Line: line, Text: fmt.Sprintf(form, args...), Repair: repair})
}

// lines examines the lines of the file that Codex opens.
func (x *examiner) lines(r *rollout) {
	var last record
	next, back := int64(0), 0
	for i, l := range r.lines {
		rec, ok := readRecord(l.bytes)
		if !ok {
			x.badLine(i+1, l.bytes, i == len(r.lines)-1)
			continue
		}
		if rec.numbered && rec.ordinal < next && back == 0 {
			back = i + 1
		}
		last, next = rec, max(next, rec.ordinal+1)
		x.whole = append(x.whole, l.bytes)
	}
	if back > 0 {
		x.fault(optional.BadOrdinal, back, "", "the numbers of lines go back: two processes wrote, and Codex sends what both wrote")
	}
	if r.meta.mode == "paginated" && !last.numbered {
		x.refuses = true
		x.fault(optional.BadOrdinal, len(r.lines), optional.ByAppending, "the last line has no number, and Codex refuses to resume")
		b := append(jsjson.AppendString([]byte(`{"timestamp":`), last.time), `,"ordinal":`...)
		b = strconv.AppendInt(b, next, 10)
		x.Append = append(b, `,"type":"event_msg","payload":{"type":"repaired"}}`+"\n"...)
	}
	if x.unread > 0 {
		x.copy()
	}
}

func (x *examiner) copy() { x.Copy = append(bytes.Join(x.whole, []byte("\n")), '\n') }

// badLine examines a line that is not a JSON object.
func (x *examiner) badLine(number int, line []byte, last bool) {
	if jsonl.IsBlank(line) {
		return
	}
	inside := 0
	for _, l := range jsonl.Glued(line, `{"timestamp":`) {
		if r, ok := readRecord(l); ok && r.kind != "" {
			inside++
			x.whole = append(x.whole, l)
			if _, sent := readItem(r.payload); sent && r.kind == typeItem {
				x.unread++
			}
		}
	}
	switch {
	case inside > 0:
		x.fault(optional.GluedLines, number, optional.ByCopy, "Codex skips this line, which holds complete ones: %d", inside)
	case last:
		x.fault(optional.TruncatedTail, number, "", "the last line is incomplete, and Codex skips it")
	default:
		x.fault(optional.BadLine, number, "", "it is not a JSON object, and Codex skips it")
	}
}

// bases examines the files that r continues.
func (x *examiner) bases(t *thread, r *rollout) {
	seen := map[*rollout]bool{}
	for first := true; r.meta.base != nil && !seen[r]; first = false {
		seen[r] = true
		b := *r.meta.base
		of := t.baseOf(r, b)
		repair, broken := optional.Repair(""), of == nil || of.size() < b.end
		if broken && first && len(x.whole) > 0 {
			repair = optional.ByCopy
			x.whole[0] = jsonl.Replace(x.whole[0], "payload", func(p []byte) []byte { return jsonl.Without(p, "history_base") })
			x.copy()
		}
		x.refuses = x.refuses || broken
		switch {
		case of == nil:
			x.fault(optional.MissingBase, 1, repair, "it continues thread %s, whose file is missing: Codex refuses to resume", b.thread)
		case broken:
			x.fault(optional.MissingBase, 1, repair, "it continues byte %d of thread %s, whose file is shorter: Codex refuses to resume", b.end, b.thread)
		case of.lineBefore(b.end) == nil:
			x.fault(optional.MissingBase, 1, "", "it continues thread %s inside of a line, so that file was changed: Codex sends less", b.thread)
		}
		if of == nil {
			return
		}
		r = of
	}
}

// size is how many bytes the lines of r take.
func (r *rollout) size() (n int64) {
	for _, l := range r.lines {
		n += int64(len(l.bytes)) + 1
	}
	return n
}

// count counts the items of the thread's lines.
func (x *examiner) count(lines []rolloutLine) {
	at := lastCompaction(lines)
	for i, l := range lines {
		n := len(sentBy(l))
		x.Messages += n
		switch {
		case x.refuses:
		case i < at:
			x.Summarized += n
		default:
			x.Sent += n
		}
	}
	x.Messages += x.unread
}
