package jsjson

import "slices"

// Append appends to dst what JSON.stringify(JSON.parse(src)) gives. On error,
// which is an ErrSyntax, it returns nil.
func Append(dst, src []byte) ([]byte, error) {
	if isTidy(src) {
		return append(dst, src...), nil
	}
	return rewrite(dst, src)
}

// rewrite is Append for text that is not yet as JavaScript would write it.
func rewrite(dst, src []byte) ([]byte, error) {
	c := coder{scanner: scanner{src: src}}
	base := len(dst)
	dst, err := c.append(dst)
	if err != nil {
		return nil, err
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	return c.reordered(dst, base), nil
}

// A coder writes again what its scanner reads.
type coder struct {
	scanner
	spans []span  // of the members of the objects being read
	mixed []mixed // objects whose members are not in JavaScript's order
}

// A span is the position of a member in the output: its name begins at name,
// its value at value, and it ends at end.
type span struct{ name, value, end int }

func (c *coder) append(dst []byte) ([]byte, error) {
	switch b := c.peek(); b {
	case '{':
		return c.appendObject(dst)
	case '[':
		return c.appendArray(dst)
	case '"':
		return c.appendString(dst)
	case 't', 'f', 'n':
		start := c.pos
		if err := c.skip(); err != nil {
			return nil, err
		}
		return append(dst, c.src[start:c.pos]...), nil
	default:
		lit, err := c.number()
		if err != nil {
			return nil, err
		}
		return appendNumber(dst, lit), nil
	}
}

func (c *coder) appendArray(dst []byte) ([]byte, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	dst = append(dst, '[')
	for first := true; ; first = false {
		ok, err := c.more(first, ']')
		if err != nil {
			return nil, err
		}
		if !ok {
			return append(dst, ']'), nil
		}
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = c.append(dst); err != nil {
			return nil, err
		}
	}
}

func (c *coder) appendObject(dst []byte) ([]byte, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	start, base := len(dst), len(c.spans)
	dst = append(dst, '{')
	for first := true; ; first = false {
		ok, err := c.more(first, '}')
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = c.appendMember(dst); err != nil {
			return nil, err
		}
	}
	dst = append(dst, '}')
	spans := c.spans[base:]
	c.spans = c.spans[:base]
	if !inOrder(dst, spans) {
		c.mixed = append(c.mixed, mixed{start, len(dst), slices.Clone(spans)})
	}
	return dst, nil
}

func (c *coder) appendMember(dst []byte) ([]byte, error) {
	if c.peek() != '"' {
		return nil, c.fail("no member name")
	}
	name := len(dst)
	dst, err := c.appendString(dst)
	if err != nil {
		return nil, err
	}
	if err := c.colon(); err != nil {
		return nil, err
	}
	dst = append(dst, ':')
	value := len(dst)
	if dst, err = c.append(dst); err != nil {
		return nil, err
	}
	c.spans = append(c.spans, span{name, value, len(dst)})
	return dst, nil
}

// inOrder reports whether the members are as JavaScript would write them: no
// name twice, no array index among the names.
func inOrder(b []byte, spans []span) bool {
	if len(spans) > fewMembers {
		seen := make(map[string]bool, len(spans))
		for _, m := range spans {
			name := b[m.name : m.value-1]
			if seen[string(name)] || isIndex(name) {
				return false
			}
			seen[string(name)] = true
		}
		return true
	}
	for i, m := range spans {
		name := b[m.name : m.value-1]
		if isIndex(name) {
			return false
		}
		for _, o := range spans[:i] {
			if string(b[o.name:o.value-1]) == string(name) {
				return false
			}
		}
	}
	return true
}
