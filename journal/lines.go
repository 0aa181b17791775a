package journal

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

func named(name string) (core.Dialect, error) { return dialect.Named(name) }

// entriesOf reads lines by the rules of d.
func entriesOf(d core.Dialect, lines [][]byte) ([]core.Entry, error) {
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		e, err := d.Entry(line)
		if err != nil {
			return nil, &core.LineError{Line: i + 1, Err: err}
		}
		es[i] = e
	}
	return es, nil
}

// leafAfter is where a head that stood at before stands behind lines.
func leafAfter(d core.Dialect, lines [][]byte, before core.Leaf) (core.Leaf, error) {
	es, err := entriesOf(d, lines)
	if err != nil || !core.AnyInTree(es) {
		return before, err
	}
	return d.Leaf(es), nil
}

// complete gives n's lines ids and a time where they lack them, and notes where
// the head stands behind them. It reports whether they are whole then, which
// they are not where nothing is known of the session's dialect.
func (b *book) complete(n *note) (bool, error) {
	if b.dialect == "" {
		return false, nil
	}
	d, err := named(b.dialect)
	if err != nil {
		return false, err
	}
	if n.lines, err = filled(d, b.id, n, core.Leaf{}); err != nil {
		return false, err
	}
	n.To, err = leafAfter(d, n.lines, b.stands(n.Head))
	return true, err
}

// filled returns n's lines with what they lack: ids made of n's key, so that
// they are the same every time, and the time when it was kept. Those that name
// no parent go behind leaf and behind each other; with the zero Leaf that is
// left to the log, and so it is in a session that is one chain.
func filled(d core.Dialect, id core.SessionID, n *note, leaf core.Leaf) ([][]byte, error) {
	at := n.Time
	if at.IsZero() {
		at = time.Now().UTC()
	}
	stamp := at.Format("2006-01-02T15:04:05.000Z")
	hang := leaf != core.Leaf{} && !d.Linear()
	out := make([][]byte, len(n.lines))
	for i, line := range n.lines {
		f := core.Fields{ID: keyedID(d, id, n.Key, i), Time: stamp}
		if hang {
			f.Parent = leaf
		}
		e, err := d.Entry(line)
		if err == nil && !e.Aside {
			e, err = d.Fill(line, f)
		}
		if err != nil {
			return nil, &core.LineError{Line: i + 1, ID: e.ID, Err: err}
		}
		if !e.Aside {
			leaf = d.Leaf([]core.Entry{e})
		}
		out[i] = e.Line
	}
	return out, nil
}

func keyedID(d core.Dialect, id core.SessionID, key string, i int) string {
	h := sha256.Sum256([]byte(string(id) + "\x00" + key + "\x00" + strconv.Itoa(i)))
	return d.EntryID([16]byte(h[:16]))
}

// idsOf are the ids of lines that have all they need.
func idsOf(d core.Dialect, lines [][]byte) ([]string, error) {
	es, err := entriesOf(d, lines)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(es))
	for i, e := range es {
		if e.ID == "" && !e.Aside {
			return nil, &core.LineError{Line: i + 1, Err: fmt.Errorf("it has no id: %w", core.ErrInvalid)}
		}
		ids[i] = e.ID
	}
	return ids, nil
}
