package core

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A change says how the lines of a session became others: some were replaced,
// in their place, and others came behind them. Lines never go. Its bytes are a
// line of JSON, a changeHead, then the lines that replace, in order, then those
// that came; "\n" behind each.
type changeHead struct {
	Lines    int   `json:"lines"`              // how many there were, the header's included
	Replaced []int `json:"replaced,omitempty"` // which of them are others now, counted from 0, in order
}

// Diff returns the change that makes next of old, both of which are whole lines.
// ok is false where no change does: next has fewer lines.
func Diff(old, next []byte) (change []byte, ok bool) {
	if !wholeLines(old) || !wholeLines(next) {
		return nil, false
	}
	var h changeHead
	var lines []byte
	rest := next
	if bytes.HasPrefix(next, old) {
		h.Lines, rest = bytes.Count(old, newline), next[len(old):]
		old = nil
	}
	for ; len(old) > 0; h.Lines++ {
		if len(rest) == 0 {
			return nil, false
		}
		var was, is []byte
		was, old = firstLine(old)
		is, rest = firstLine(rest)
		if !bytes.Equal(was, is) {
			h.Replaced = append(h.Replaced, h.Lines)
			lines = append(lines, is...)
		}
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, false
	}
	change = make([]byte, 0, len(head)+1+len(lines)+len(rest))
	change = append(change, head...)
	change = append(change, '\n')
	change = append(change, lines...)
	return append(change, rest...), true
}

// Patch returns what base is after changes, one after the other. ErrCorrupt where
// one of them is no change, or is of other lines. It takes no more memory than
// base and changes do.
func Patch(base []byte, changes ...[]byte) ([]byte, error) {
	if !wholeLines(base) {
		return nil, fmt.Errorf("lines that were changed are not whole: %w", ErrCorrupt)
	}
	p := patch{own: bytes.Count(base, newline), replaced: map[int][]byte{}}
	for i, c := range changes {
		if err := p.take(c); err != nil {
			return nil, fmt.Errorf("change %d: %v: %w", i+1, err, ErrCorrupt)
		}
	}
	return p.render(base), nil
}

// A patch is what several changes come to.
type patch struct {
	own      int            // lines of the base
	replaced map[int][]byte // of those, with what
	added    [][]byte
}

func (p *patch) take(change []byte) error {
	if !wholeLines(change) {
		return fmt.Errorf("it ends in the middle")
	}
	line, rest := firstLine(change)
	var h changeHead
	if err := json.Unmarshal(line, &h); err != nil {
		return err
	}
	if there := p.own + len(p.added); h.Lines != there {
		return fmt.Errorf("it is of %d lines, there are %d", h.Lines, there)
	}
	last := -1
	for _, at := range h.Replaced {
		if at <= last || at >= h.Lines || len(rest) == 0 {
			return fmt.Errorf("it replaces line %d behind line %d of %d, with %d bytes left", at, last, h.Lines, len(rest))
		}
		last = at
		line, rest = firstLine(rest)
		if at < p.own {
			p.replaced[at] = line
		} else {
			p.added[at-p.own] = line
		}
	}
	for len(rest) > 0 {
		line, rest = firstLine(rest)
		p.added = append(p.added, line)
	}
	return nil
}

func (p *patch) render(base []byte) []byte {
	n := len(base)
	for _, line := range p.replaced {
		n += len(line)
	}
	for _, line := range p.added {
		n += len(line)
	}
	out := make([]byte, 0, n)
	for at, left := 0, len(p.replaced); left > 0; at++ {
		var line []byte
		line, base = firstLine(base)
		if other, ok := p.replaced[at]; ok {
			line, left = other, left-1
		}
		out = append(out, line...)
	}
	out = append(out, base...)
	for _, line := range p.added {
		out = append(out, line...)
	}
	return out
}

var newline = []byte("\n")

// wholeLines reports whether b ends where a line ends.
func wholeLines(b []byte) bool { return len(b) == 0 || b[len(b)-1] == '\n' }

// firstLine returns the first line of b, with its end, and what is behind it.
func firstLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n') + 1
	return b[:i], b[i:]
}
