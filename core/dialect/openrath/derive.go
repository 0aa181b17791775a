package openrath

import (
	"bytes"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/optional"
)

// The operators of OpenRath's runs, and the start of those that only a log has.
const (
	operatorLoop     = "run_session_loop"
	operatorCompress = "run_session_compress"
	operatorLog      = "sesslog."
)

// Derive makes the header that OpenRath gives a session which it forks,
// detaches, merges, compresses or loops: all parents in order, the operator,
// and the sandbox of the first. A resumed session names no origin, as in
// Resume. The chunks are numbered again; a trailer closes its own session only.
// The usage of a merge is the sum, in a member of the header that OpenRath
// ignores, because OpenRath writes usage in a trailer only. Without from, kind is
// that of Create.
func (d Dialect) Derive(f core.HeaderFields, kind string, from []optional.Source, es []core.Entry) ([]byte, []core.Entry, error) {
	sources := make([]Session, len(from))
	for i, src := range from {
		sources[i] = sourceOf(src)
	}
	var s Session
	var err error
	if len(from) == 0 {
		s, err = Create(f.ID, kind, "")
	} else {
		s, err = derived(f.ID, kind, sources)
	}
	if err != nil {
		return nil, nil, err
	}
	s.Created = asPython(f.Time)
	line := s.Header()
	if s.Usage != nil {
		line = append(appendMember(line[:len(line)-1], "cumulative_usage", s.Usage.text()), '}')
	}
	es, err = d.renumbered(frame.Rows(es))
	return line, es, err
}

// sourceOf reads a session without its rows. Of a session of another agent only
// the id counts.
func sourceOf(src optional.Source) Session {
	s, err := readHeader(src.Header.Line)
	if err != nil {
		return Session{ID: src.Header.ID}
	}
	s.Usage = usageOf(s, src.Entries)
	return s
}

// usageOf is what the trailer says, or else the header.
func usageOf(s Session, es []core.Entry) *Usage {
	if t, ok := trailerOf(es); ok && t.usage != nil {
		return t.usage
	}
	return s.Usage
}

func derived(id, kind string, from []Session) (Session, error) {
	ids := make([]string, len(from))
	for i, s := range from {
		ids[i] = s.ID
	}
	first := from[0]
	switch kind {
	case "fork":
		return first.derive(id, LineageFork, operatorFork, ids...), nil
	case "detach":
		return first.Detach(id), nil
	case "merge":
		return merged(id, from)
	case "compress":
		s := first.derive(id, LineageCompress, operatorCompress, ids...)
		s.Extras = compressed()
		return s, nil
	case "loop":
		return first.derive(id, LineageLoop, operatorLoop, ids...), nil
	case "branch", "convert":
		return first.derive(id, LineageFork, operatorLog+kind, ids...), nil
	case "create", "subagent":
		return first.derive(id, LineageCreate, operatorLog+kind, ids...), nil
	}
	s := first.derive(id, LineageUnknown, operatorImplicit)
	s.Sandbox = s.Sandbox.reattached()
	return s, nil
}

func merged(id string, from []Session) (Session, error) {
	s := from[0]
	for _, other := range from[1:] {
		m, err := s.Merge(id, other)
		if err != nil {
			return Session{}, err
		}
		if len(s.Parents) > 0 && s.ID == id {
			m.Parents = append(s.Parents, other.ID)
		}
		s = m
	}
	if len(from) == 1 {
		return s.derive(id, LineageMerge, operatorMerge, s.ID), nil
	}
	return s, nil
}

// renumbered returns the chunks es with the index that each has among them.
func (d Dialect) renumbered(es []core.Entry) ([]core.Entry, error) {
	for i := range es {
		index := strconv.AppendInt(nil, int64(i), 10)
		line := jsonl.WithNumber(es[i].Line, "index", index)
		if bytes.Equal(line, es[i].Line) {
			continue
		}
		e, err := d.Entry(line)
		if err != nil {
			return nil, err
		}
		es[i] = e
	}
	return es, nil
}
