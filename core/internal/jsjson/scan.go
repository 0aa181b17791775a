package jsjson

import (
	"errors"
	"fmt"
)

// MaxDepth is how deep objects and arrays may be nested.
const MaxDepth = 10_000

// ErrSyntax is input that is not the JSON it should be.
var ErrSyntax = errors.New("not JSON")

// A scanner reads JSON text. Its methods leave pos after what they read.
type scanner struct {
	src   []byte
	pos   int
	depth int
}

func (s *scanner) fail(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrSyntax, what, s.pos)
}

// peek returns the next byte that is not white space, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end returns an error unless only white space is left.
func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.src) {
		return s.fail("more than one value")
	}
	return nil
}

// enter goes into an object or array.
func (s *scanner) enter() error {
	if s.depth++; s.depth > MaxDepth {
		return s.fail("nested too deep")
	}
	s.pos++
	return nil
}

func (s *scanner) leave() {
	s.depth--
	s.pos++
}

// more goes to the next item of a list that is closed by end. It reports false
// at the end, which it has passed then.
func (s *scanner) more(first bool, end byte) (bool, error) {
	switch c := s.peek(); {
	case c == end:
		s.leave()
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.pos++
		if s.peek() == end {
			return false, s.fail("a comma before the end")
		}
		return true, nil
	}
	return false, s.fail("no comma")
}

// colon reads the colon of a member.
func (s *scanner) colon() error {
	if s.peek() != ':' {
		return s.fail("no colon")
	}
	s.pos++
	s.peek()
	return nil
}

// value returns the text of the next value.
func (s *scanner) value() (Value, error) {
	s.peek()
	start := s.pos
	if err := s.skip(); err != nil {
		return nil, err
	}
	return s.src[start:s.pos], nil
}

// skip reads a value.
func (s *scanner) skip() error {
	switch c := s.peek(); c {
	case '{':
		return s.skipObject()
	case '[':
		return s.skipArray()
	case '"':
		return s.skipString()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		_, err := s.number()
		return err
	}
}

func (s *scanner) skipObject() error {
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := s.more(first, '}')
		if !ok {
			return err
		}
		if s.peek() != '"' {
			return s.fail("no member name")
		}
		if err := s.skipString(); err != nil {
			return err
		}
		if err := s.colon(); err != nil {
			return err
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}

func (s *scanner) skipArray() error {
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := s.more(first, ']')
		if !ok {
			return err
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}

func (s *scanner) word(w string) error {
	if len(s.src)-s.pos < len(w) || string(s.src[s.pos:s.pos+len(w)]) != w {
		return s.fail("no value")
	}
	s.pos += len(w)
	return nil
}
