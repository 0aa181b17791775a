package follow

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
)

// finish saves that the file is in step, and reports what is new about it.
func (m *merging) finish(ctx context.Context) error {
	fl, f, p := m.fl, m.f, &m.f.place
	first := p.Dialect == ""
	p.Session, p.Dialect, p.Head = m.id, m.d.Name(), m.head()
	if err := m.reportSkipped(ctx); err != nil {
		return err
	}
	fl.reportSecrets(f, m.unreported())
	if err := fl.stateError(f, m.s, fl.state.setLines(f.path, m.hashes())); err != nil {
		return err
	}
	if err := fl.reconcileHead(ctx, f, wantedLeaf(m.d, m.own), m.sole); err != nil {
		return err
	}
	p.Noting = core.Cursor{} // later notes are about another change
	f.digest = xxhash.New()
	f.noteVerified(true)
	p.Offset = 0
	if len(m.file) > 0 {
		p.advance(f.digest, edges{}, m.file)
	} else {
		p.Sum = f.digest.Sum64()
	}
	fl.save(f, m.s)
	if first {
		fl.notify(Notice{Kind: Began, Path: f.path, Session: m.id, Head: p.Head, Text: fmt.Sprintf("%s is session %s", f.path, m.id)})
	}
	if f.diverged {
		f.diverged = false
		fl.reportDiverged(ctx, f)
	}
	return nil
}

// unreported returns the entries of the file that it did not have when it was last in
// step.
func (m *merging) unreported() (es []core.Entry) {
	for i := range m.own.Entries {
		if !m.had.stored(m.own.Entries[i].Line) {
			es = append(es, m.own.Entries[i])
		}
	}
	return es
}

// hashes returns the hashes of all lines of the file that were handled.
func (m *merging) hashes() []uint64 {
	hs := make([]uint64, 0, len(m.own.Entries)+len(m.own.Skipped))
	for i := range m.own.Entries {
		hs = append(hs, hash(m.own.Entries[i].Line))
	}
	for _, line := range m.skipped() {
		hs = append(hs, hash(line))
	}
	return hs
}

// skipped returns the lines that are not entries.
func (m *merging) skipped() (bad [][]byte) {
	if len(m.own.Skipped) == 0 {
		return nil
	}
	lines := bytes.Split(m.raw, []byte("\n"))
	for _, s := range m.own.Skipped {
		if n := s.Line - 1; n < len(lines) {
			bad = append(bad, lines[n])
		}
	}
	return bad
}

// reportSkipped records and reports the lines that are not entries and were not
// reported before. If this created the session, its first record has them already.
func (m *merging) reportSkipped(ctx context.Context) error {
	var bad [][]byte
	for _, line := range m.skipped() {
		if !m.had.stored(line) {
			bad = append(bad, line)
		}
	}
	if !m.made {
		return m.fl.reportBad(ctx, m.f, bad)
	}
	if len(bad) > 0 {
		what := "is not an entry"
		if len(bad) > 1 {
			what = "are not entries"
		}
		m.fl.notify(Notice{Kind: BadLine, Path: m.f.path, Session: m.id, Text: fmt.Sprintf(
			"%s of %s %s; the original file is kept: sessctl export --original %s", count(len(bad), "line"), m.f.path, what, m.id)})
	}
	return nil
}

// reportConflicts records and reports lines that the log rejects or has with other
// content, each once.
func (m *merging) reportConflicts(ctx context.Context, all []conflict) error {
	var fresh []conflict
	for _, c := range all {
		if !m.f.conflicts.has(hash(c.entry.Line)) {
			fresh = append(fresh, c)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	m.f.place.Session, m.f.place.Head = m.id, m.head()
	why := fmt.Sprintf("%s of %s not taken:", count(len(fresh), "line"), m.f.path)
	for _, c := range fresh {
		why += fmt.Sprintf(" line %d: %s: %s", c.line, c.why, quote(c.entry.Line, 400))
	}
	if err := m.fl.record(ctx, m.f, why); err != nil {
		return err
	}
	m.fl.notify(Notice{Kind: Conflict, Path: m.f.path, Session: m.id, Text: fmt.Sprintf(
		"line %d of %s is not in session %s: %s; compare them with: sessctl entries %s", fresh[0].line, m.f.path, m.id, fresh[0].why, m.id)})
	if m.f.conflicts == nil {
		m.f.conflicts = lineSet{}
	}
	for _, c := range fresh {
		m.f.conflicts[hash(c.entry.Line)] = struct{}{}
	}
	return nil
}
