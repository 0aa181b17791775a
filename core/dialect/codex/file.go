package codex

import (
	"bytes"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/dialect/internal/filename"
)

// Detect reports whether data begins like a rollout, plain or compressed, or is
// a session of Codex as the log has it.
func (Dialect) Detect(data []byte) bool {
	if envelope.IsPacked(dialectName, data) {
		return true
	}
	if isPacked(data) {
		data, _ = unpackedUpTo(data, headerBytes)
	}
	first := data[:min(len(data), headerBytes)]
	if r, ok := readRecord(firstLine(first)); ok {
		return r.kind == typeMeta && r.payload.Kind() == '{'
	}
	isCut := len(first) < len(data) || !bytes.Contains(first, []byte("\n"))
	return isCut && bytes.Contains(first[:min(len(first), 256)], []byte(`"type":"session_meta"`))
}

// File reads a session as the log has it, or one rollout. A rollout that
// continues another is read without that; Pack reads both. Its name is not
// known and is made of its time and its thread.
func (d Dialect) File(data []byte) (*core.File, error) {
	if envelope.IsPacked(dialectName, data) {
		return envelope.File(d, data)
	}
	data, err := unpacked(data)
	if err != nil {
		return nil, err
	}
	m, err := readMeta(firstLine(data))
	if err != nil {
		return nil, err
	}
	name := rolloutName{when: nameTime(m.time), thread: fileID(m.thread)}
	s := newSources([]source{{path: homePath(name), name: name, meta: m, data: data}})
	f, _, err := d.packed(m.thread, s)
	if err != nil {
		return nil, err
	}
	f.Exact = bytes.Equal(core.Lines(d.Layout(f.Header, f.Entries)), data)
	for i := range f.Lines {
		f.Lines[i] = i + 1
	}
	return f, nil
}

// FileName is where Codex keeps the first file of a thread: in the folder of its
// day, under its time and id. Time and day are in UTC.
func (Dialect) FileName(h core.Header) (dir, name string) {
	path := homePath(nameOfHeader(h))
	i := strings.LastIndexByte(path, '/')
	return strings.TrimPrefix(path[:i], "sessions/"), path[i+1:]
}

func nameOfHeader(h core.Header) rolloutName {
	return rolloutName{when: nameTime(h.Time), thread: fileID(h.ID)}
}

// nameTime returns a time as it is part of a file's name.
func nameTime(time string) string {
	const form = "0000-00-00T00:00:00"
	if !filename.HasForm(time, form) {
		return "1970-01-01T00-00-00"
	}
	return strings.ReplaceAll(time[:len(form)], ":", "-")
}
