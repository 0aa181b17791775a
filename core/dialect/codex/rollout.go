package codex

import (
	"bytes"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
)

// A rollout is a file of a session, read from its entries.
type rollout struct {
	path  string
	name  rolloutName
	meta  meta
	lines []rolloutLine
	own   bool // its lines have a place in the tree: it is no file of a sub-agent
}

// A rolloutLine is a line of a rollout, or an entry that was made in the log
// after the line before it.
type rolloutLine struct {
	core.Entry
	bytes []byte
	made  bool
}

// A thread is the files of a session.
type thread struct {
	rollouts []*rollout // in the order in which they came into the log
	loose    []rolloutLine
	last     *rollout // the one with the last line that has a place in the tree
}

// readThread reads the files of a session. Entries that were made in the log
// continue the file that was the newest at that time. They are loose if there
// was none.
func readThread(es []core.Entry) (*thread, error) {
	c, err := envelope.Read(es, func(core.Entry) string { return "" })
	if err != nil {
		return nil, err
	}
	t := &thread{}
	byPath, threads := map[string]*rollout{}, map[string]string{}
	for _, l := range c.Lines {
		line := rolloutLine{Entry: l.Entry, bytes: l.Bytes, made: l.Path == ""}
		if line.made {
			if !l.Entry.Aside {
				t.addMade(line)
			}
			continue
		}
		r := byPath[l.Path]
		if r == nil {
			r = &rollout{path: l.Path}
			r.name, _ = parseRolloutName(l.Path)
			r.meta, _ = readMeta(l.Bytes)
			r.meta.base = r.meta.base.of(threads)
			threads[r.name.rollout] = r.meta.thread
			byPath[l.Path], t.rollouts = r, append(t.rollouts, r)
		}
		r.lines = append(r.lines, line)
		if !l.Entry.Aside {
			r.own, t.last = true, r
		}
	}
	for _, r := range t.rollouts { // which may have come before the files that they continue
		r.meta.base = r.meta.base.of(threads)
	}
	return t, nil
}

func (t *thread) addMade(line rolloutLine) {
	if r := t.newest(); r != nil {
		r.lines = append(r.lines, line)
		return
	}
	t.loose = append(t.loose, line)
}

// newest returns the file at whose end Codex continues: of those of the session's
// own thread, the one with the greatest time in its name. Returns nil if there is
// none.
func (t *thread) newest() *rollout {
	own := t.ownThread()
	var found *rollout
	for _, r := range t.rollouts {
		if r.own && r.meta.thread == own && (found == nil || r.name.compare(found.name) > 0) {
			found = r
		}
	}
	return found
}

// ownThread returns the thread that no other thread of the session continues.
// Of several it is that of the last line.
func (t *thread) ownThread() string {
	if t.last == nil {
		return ""
	}
	continued := map[string]bool{}
	for _, r := range t.rollouts {
		if b := r.meta.base; r.own && b != nil && b.thread != r.meta.thread {
			continued[b.thread] = true
		}
	}
	if !continued[t.last.meta.thread] {
		return t.last.meta.thread
	}
	for _, r := range t.rollouts {
		if r.own && !continued[r.meta.thread] {
			return r.meta.thread
		}
	}
	return t.last.meta.thread
}

// chain returns the lines from the beginning of the thread's history to the end
// of r.
func (t *thread) chain(r *rollout) []rolloutLine {
	parts := [][]rolloutLine{r.lines}
	seen := map[*rollout]bool{r: true}
	for r.meta.base != nil {
		b := *r.meta.base
		if r = t.baseOf(r, b); r == nil || seen[r] {
			break
		}
		seen[r] = true
		parts = append(parts, r.upTo(b.end))
	}
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	lines := append(make([]rolloutLine, 0, n), t.loose...)
	for i := range parts {
		lines = append(lines, parts[len(parts)-1-i]...)
	}
	return lines
}

// upTo returns the lines within the first end bytes of r.
func (r *rollout) upTo(end int64) []rolloutLine {
	at := int64(0)
	for i, l := range r.lines {
		if l.made {
			continue
		}
		if at >= end {
			return r.lines[:i]
		}
		at += int64(len(l.bytes)) + 1
	}
	return r.lines
}

// baseOf returns the file that holds the lines before those of r, or nil if it
// is missing.
func (t *thread) baseOf(r *rollout, b base) *rollout {
	var files []baseFile
	for _, o := range t.rollouts {
		if o != r && o.meta.thread == b.thread && b.isIn(o.name) && len(o.lines) > 0 {
			files = append(files, baseFile{o.name, o.lines[0].bytes, func() []byte { return o.lineBefore(b.end) }})
		}
	}
	i := pickBase(files, b)
	if i < 0 {
		return nil
	}
	for _, o := range t.rollouts {
		if o.name == files[i].name && o.meta.thread == b.thread && o != r {
			return o
		}
	}
	return nil
}

// lineBefore returns the line that ends at the byte end of r, or nil if none
// does.
func (r *rollout) lineBefore(end int64) []byte {
	at := int64(0)
	for _, l := range r.lines {
		if l.made {
			continue
		}
		if at += int64(len(l.bytes)) + 1; at == end {
			return l.bytes
		}
	}
	return nil
}

// A baseFile is one of the files of the thread that a base names.
type baseFile struct {
	name       rolloutName
	first      []byte
	lineBefore func() []byte // the line that ends at the base's offset, or nil
}

// pickBase returns which of files a base means, or -1 if there is none. A
// thread that was reverted has several files, and the base is that in which the
// line before the offset has the ordinal before the base's. If there is none,
// it is the newest that begins before that ordinal.
func pickBase(files []baseFile, b base) int {
	exact, found := -1, -1
	for i, f := range files {
		if r, ok := readRecord(f.lineBefore()); ok && r.numbered && r.ordinal == b.ordinal-1 {
			if exact < 0 || f.name.compare(files[exact].name) > 0 {
				exact = i
			}
		}
		r, _ := readRecord(f.first)
		if len(files) > 1 && r.ordinal >= b.ordinal {
			continue
		}
		if found < 0 || f.name.compare(files[found].name) > 0 {
			found = i
		}
	}
	if exact >= 0 {
		return exact
	}
	return found
}

// firstLine returns the first line of data, without its newline.
func firstLine(data []byte) []byte {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return line
}
