package jsjson

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
)

// A Value is the text of one JSON value; nil is undefined.
type Value []byte

// Kind is the first byte of v: one of { [ " t f n, a digit or a minus sign, or
// 0 if v is undefined.
func (v Value) Kind() byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

// IsNullish reports whether v is null or undefined.
func (v Value) IsNullish() bool { return v.Kind() == 0 || v.Kind() == 'n' }

// Number returns v if it is a number. A number out of range is infinite.
func (v Value) Number() (float64, bool) {
	if k := v.Kind(); k != '-' && !isDigit(k) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(v), 64)
	return f, true
}

// Truthy reports whether JavaScript would take v for true.
func (v Value) Truthy() bool {
	switch v.Kind() {
	case 0, 'n', 'f':
		return false
	case '"':
		return len(v) > 2
	case '{', '[', 't':
		return true
	}
	f, _ := v.Number()
	return f != 0
}

// Is reports whether v is the string text, which must be plain: printable
// ASCII without quotes and backslashes.
func (v Value) Is(text string) bool {
	if len(v) == len(text)+2 && v[0] == '"' && string(v[1:len(v)-1]) == text {
		return true
	}
	if v.Kind() != '"' || bytes.IndexByte(v, '\\') < 0 {
		return false
	}
	s := scanner{src: v}
	b, err := s.appendString(nil)
	return err == nil && len(b) == len(text)+2 && string(b[1:len(b)-1]) == text
}

// An Object is a JSON object as JavaScript holds it: each name once, at the
// position where it first occurred. The zero Object is empty.
type Object struct {
	members []member
	byName  map[string]int // kept once there are more than fewMembers
}

type member struct {
	name  []byte // as JSON.stringify writes it, with its quotes
	value Value
}

// fewMembers is how many names are compared one by one.
const fewMembers = 24

// ParseObject reads src as one JSON object. The values share memory with src.
func ParseObject(src []byte) (Object, error) {
	var o Object
	s := scanner{src: src}
	if s.peek() != '{' {
		return o, s.fail("no object")
	}
	if err := s.enter(); err != nil {
		return o, err
	}
	o.members = make([]member, 0, 8)
	for first := true; ; first = false {
		ok, err := s.more(first, '}')
		if err != nil {
			return Object{}, err
		}
		if !ok {
			return o, s.end()
		}
		if err := o.read(&s); err != nil {
			return Object{}, err
		}
	}
}

func (o *Object) read(s *scanner) error {
	if s.peek() != '"' {
		return s.fail("no member name")
	}
	name, err := s.name()
	if err != nil {
		return err
	}
	if err := s.colon(); err != nil {
		return err
	}
	value, err := s.value()
	if err != nil {
		return err
	}
	o.set(name, value)
	return nil
}

// name returns the next string as JavaScript would write it. It shares memory
// with the source if that has this form already.
func (s *scanner) name() ([]byte, error) {
	end := s.pos + 1
	for end < len(s.src) && plain[s.src[end]] {
		end++
	}
	if end < len(s.src) && s.src[end] == '"' {
		name := s.src[s.pos : end+1]
		s.pos = end + 1
		return name, nil
	}
	return s.appendString(nil)
}

// Get returns the member called name, which must be plain as for Is, or nil if
// there is none.
func (o *Object) Get(name string) Value {
	for i := range o.members {
		m := &o.members[i]
		if len(m.name) == len(name)+2 && string(m.name[1:len(m.name)-1]) == name {
			return m.value
		}
	}
	return nil
}

// Set replaces the value of the member called name, which must be plain, or
// adds it at the end. If v is nil, the member is treated as absent.
func (o *Object) Set(name string, v Value) { o.set(AppendString(nil, name), v) }

// Delete removes the member called name, which must be plain.
func (o *Object) Delete(name string) {
	quoted := AppendString(nil, name)
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return bytes.Equal(m.name, quoted) })
	o.byName = nil
}

func (o *Object) set(name []byte, v Value) {
	if i := o.find(name); i >= 0 {
		o.members[i].value = v
		return
	}
	if o.byName != nil {
		o.byName[string(name)] = len(o.members)
	}
	o.members = append(o.members, member{name, v})
}

func (o *Object) find(name []byte) int {
	if len(o.members) <= fewMembers {
		return slices.IndexFunc(o.members, func(m member) bool { return string(m.name) == string(name) })
	}
	if o.byName == nil {
		o.byName = make(map[string]int, 2*len(o.members))
		for i, m := range o.members {
			o.byName[string(m.name)] = i
		}
	}
	if i, ok := o.byName[string(name)]; ok {
		return i
	}
	return -1
}

// Append appends what JSON.stringify returns for o. Returns an ErrSyntax if a
// value that was set is not JSON.
func (o *Object) Append(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for _, m := range o.sorted() {
		if m.value == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		var err error
		if dst, err = Append(append(append(dst, m.name...), ':'), m.value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// sorted returns the members with the array indices first, in ascending order.
func (o *Object) sorted() []member {
	if !slices.ContainsFunc(o.members, func(m member) bool { return isIndex(m.name) }) {
		return o.members
	}
	ms := slices.Clone(o.members)
	slices.SortStableFunc(ms, func(a, b member) int { return cmp.Compare(order(a.name), order(b.name)) })
	return ms
}

// order is the sort key of a name: its value for an array index, a larger
// number for any other name.
func order(name []byte) uint64 {
	if !isIndex(name) {
		return 1 << 32
	}
	n, _ := strconv.ParseUint(string(name[1:len(name)-1]), 10, 32)
	return n
}

// isIndex reports whether a quoted name is an array index: a whole number
// below 2³²-1 without a leading zero.
func isIndex(name []byte) bool {
	if len(name) < 3 || len(name) > 12 || !isDigit(name[1]) || name[1] == '0' && len(name) > 3 {
		return false
	}
	n, err := strconv.ParseUint(string(name[1:len(name)-1]), 10, 32)
	return err == nil && n < 1<<32-1
}

// Each calls f with each item of the array in src, in order. The items share
// memory with src.
func Each(src []byte, f func(item Value)) error {
	s := scanner{src: src}
	if s.peek() != '[' {
		return s.fail("no array")
	}
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := s.more(first, ']')
		if err != nil {
			return err
		}
		if !ok {
			return s.end()
		}
		v, err := s.value()
		if err != nil {
			return err
		}
		f(v)
	}
}
