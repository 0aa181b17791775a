package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A change describes how the lines of a session changed: some were replaced in
// place, and others were added at the end. Lines are never removed. Its
// encoding is a line of JSON, a changeHead, followed by the replacing lines in
// order and then the added lines, with "\n" after each.
type changeHead struct {
	Lines    int   `json:"lines"`              // how many there were, the header's included
	Replaced []int `json:"replaced,omitempty"` // which of them are others now, counted from 0, in order
}

// Diff returns the change that turns old into next, which both consist of whole
// lines. ok is false if no change does, because next has fewer lines.
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

// Patch applies changes to base, one after the other. It allocates no more
// memory than base and changes take. Returns ErrCorrupt if one of them is not a
// change, or is a change of other lines.
func Patch(base []byte, changes ...[]byte) ([]byte, error) {
	if !wholeLines(base) {
		return nil, fmt.Errorf("lines that were changed are not whole: %w", core.ErrCorrupt)
	}
	p := patch{own: bytes.Count(base, newline), replaced: map[int][]byte{}}
	for i, c := range changes {
		if err := p.take(c); err != nil {
			return nil, fmt.Errorf("change %d: %v: %w", i+1, err, core.ErrCorrupt)
		}
	}
	return p.render(base), nil
}

// A patch is what several changes come to.
type patch struct {
	own      int            // lines of the base
	replaced map[int][]byte // the new lines, by their index in the base
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
		return fmt.Errorf("it is for %d lines, not for %d", h.Lines, there)
	}
	last := -1
	for _, at := range h.Replaced {
		if at <= last || at >= h.Lines || len(rest) == 0 {
			return fmt.Errorf("it replaces line %d after line %d of %d, with %d bytes left", at, last, h.Lines, len(rest))
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

// wholeLines reports whether b ends at the end of a line.
func wholeLines(b []byte) bool { return len(b) == 0 || b[len(b)-1] == '\n' }

// firstLine splits b after its first line, which includes the newline.
func firstLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n') + 1
	return b[:i], b[i:]
}
