package codex

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/newid"
)

// Unpack returns the files of a session below the home of Codex, byte for byte.
// Entries that were made in the log are added to the newest file of the thread.
// A session without a file of its own, such as a fork that was made in the log,
// gets one that holds its whole history. The directory of a session does not
// change: Codex resumes by id in any directory.
func (Dialect) Unpack(h core.Header, es []core.Entry, _ string) ([]bundle.File, error) {
	t, err := readThread(es)
	if err != nil {
		return nil, err
	}
	r := t.newest()
	if r == nil || r.meta.thread != h.ID {
		return []bundle.File{{Path: homePath(nameOfHeader(h)), Data: core.Lines(flat(h, t.history()))}}, nil
	}
	c, err := envelope.Read(es, func(core.Entry) string { return "" })
	if err != nil {
		return nil, err
	}
	var files []bundle.File
	for _, f := range c.All() {
		if f.Path == "" {
			continue
		}
		for _, o := range t.rollouts {
			if o.path == f.Path {
				f.Data = append(f.Data, core.Lines(o.added())...)
			}
		}
		files = append(files, f)
	}
	return files, nil
}

// Layout returns the lines of the newest file of the thread.
func (Dialect) Layout(h core.Header, es []core.Entry) []core.Entry {
	t, err := readThread(es)
	if err != nil {
		return h.Before(es)
	}
	r := t.newest()
	if r == nil || r.meta.thread != h.ID {
		return flat(h, t.history())
	}
	var lines []core.Entry
	for _, l := range r.lines {
		if !l.made {
			l.Entry.Line = l.bytes
			lines = append(lines, l.Entry)
		}
	}
	return append(lines, r.added()...)
}

// added returns the lines of r that were made in the log, as Codex would write
// them at the end of the file.
func (r *rollout) added() []core.Entry {
	var lines []core.Entry
	next, numbered := int64(0), false
	for _, l := range r.lines {
		if rec, ok := readRecord(l.bytes); ok && !l.made && rec.numbered {
			next, numbered = rec.ordinal+1, true
		}
	}
	for _, l := range r.lines {
		if !l.made {
			continue
		}
		for _, b := range madeLines(l, !numbered) {
			if numbered {
				b = withOrdinal(b, next)
				next++
			}
			lines = append(lines, core.Entry{Line: b, ID: l.ID, Type: l.Type, Time: l.Time})
		}
	}
	return lines
}

// flat returns the lines of a file that holds the whole history of a session:
// its own first line, and those of the history without their ordinals, which
// makes it a file of the legacy mode.
func flat(h core.Header, history []rolloutLine) []core.Entry {
	lines := []core.Entry{{Line: newMeta(h, history)}}
	for _, l := range history {
		if l.made {
			for _, b := range madeLines(l, true) {
				lines = append(lines, core.Entry{Line: b, ID: l.ID, Type: l.Type, Time: l.Time})
			}
			continue
		}
		r, ok := readRecord(l.bytes)
		if !ok || r.kind == typeMeta {
			continue
		}
		if r.numbered {
			l.bytes = jsonl.Without(l.bytes, "ordinal")
		}
		l.Entry.Line = l.bytes
		lines = append(lines, l.Entry)
	}
	return lines
}

// writtenVersion is the version of Codex by whose rules lines are written.
const writtenVersion = "0.169.0"

// newMeta makes the first line of a file. It has the instructions with which
// the history began.
func newMeta(h core.Header, history []rolloutLine) []byte {
	when := cmp.Or(h.Time, "1970-01-01T00:00:00.000Z")
	b := jsonl.AppendMember([]byte(`{"timestamp":`), "", "")[:len(`{"timestamp":`)]
	b = jsjson.AppendString(b, when)
	b = append(b, `,"type":"session_meta","payload":{"id":`...)
	b = jsjson.AppendString(b, h.ID)
	if h.Lineage == "fork" && newid.IsUUID(h.Parent) { // Codex reads no file with another id
		b = jsonl.AppendMember(b, "forked_from_id", h.Parent)
	}
	b = jsonl.AppendMember(b, "timestamp", when)
	b = jsonl.AppendMember(b, "cwd", h.CWD)
	b = append(b, `,"originator":"sesslog","cli_version":"`+writtenVersion+`","source":"cli"`...)
	for _, l := range history {
		r, _ := readRecord(l.bytes)
		if text := member(r.payload, "base_instructions"); r.kind == typeMeta && text.Kind() == '{' {
			b = append(append(b, `,"base_instructions":`...), text...)
			break
		}
	}
	return append(b, `}}`...)
}

// withOrdinal adds an ordinal to a line that has none.
func withOrdinal(line []byte, n int64) []byte {
	at := bytes.Index(line, []byte(`,"type":`))
	if at < 0 {
		return line
	}
	b := append(append([]byte{}, line[:at]...), `,"ordinal":`...)
	return append(strconv.AppendInt(b, n, 10), line[at:]...)
}

// fileID returns an id as it is part of a file's name: itself if it is a UUID
// or looks like one, otherwise its hash.
func fileID(id string) string {
	if _, err := core.ParseSessionID(id); err == nil {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
