package jsjson

// Pick reads src as one JSON object and sets values[i] to the member called
// names[i], or to nil if there is none. If a name occurs twice, the last one
// counts. The names must be plain as for Value.Is; the values share memory with
// src. Pick does the same as ParseObject and Get, but stores only what is asked
// for.
func Pick(src []byte, names []string, values []Value) error {
	s := scanner{src: src}
	if s.peek() != '{' {
		return s.fail("no object")
	}
	if err := s.pick(names, values); err != nil {
		return err
	}
	return s.end()
}

// PickIn is Pick for the object that is the member of src called outer, and
// returns that member. If it is not an object or does not exist, all values are
// nil. same reports that Append would only copy the member; it may be false for
// such a member, too.
func PickIn(src []byte, outer string, names []string, values []Value) (member Value, same bool, err error) {
	clear(values[:len(names)])
	s := scanner{src: src}
	if s.peek() != '{' {
		return nil, false, s.fail("no object")
	}
	if err := s.enter(); err != nil {
		return nil, false, err
	}
	for first := true; ; first = false {
		ok, err := s.more(first, '}')
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return member, same, s.end()
		}
		name, err := s.member()
		if err != nil {
			return nil, false, err
		}
		if string(name) != outer {
			if err := s.skip(); err != nil {
				return nil, false, err
			}
			continue
		}
		if member, same, err = s.pickIn(names, values); err != nil {
			return nil, false, err
		}
	}
}

// pick reads an object for some of its members. The values are passed beside the
// scanner, not in it, so that the caller's array stays on its stack.
func (s *scanner) pick(names []string, values []Value) error {
	clear(values[:len(names)])
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := s.more(first, '}')
		if !ok {
			return err
		}
		name, err := s.member()
		if err != nil {
			return err
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		for i := range names {
			if string(name) == names[i] {
				values[i] = value
			}
		}
	}
}

// member reads the name of a member and the colon after it.
func (s *scanner) member() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.fail("no member name")
	}
	name, err := s.name()
	if err != nil {
		return nil, err
	}
	return name[1 : len(name)-1], s.colon()
}

// pickIn reads the value to look into.
func (s *scanner) pickIn(names []string, values []Value) (v Value, same bool, err error) {
	clear(values[:len(names)])
	s.peek()
	start := s.pos
	if s.at('{') {
		r := tidyReader{src: s.src, names: names, values: values}
		if end := r.object(start); end != untidy {
			s.pos = end
			return s.src[start:end], true, nil
		}
		err = s.pick(names, values)
	} else {
		err = s.skip()
	}
	return s.src[start:s.pos], false, err
}
