package jsjson

// Pick reads src as one JSON object and sets values[i] to the member called
// names[i], or to nil if there is none. If a name occurs twice, the last one
// counts. The names must be plain as for Value.Is; the values share memory with
// src. Pick does the same as ParseObject and Get, but stores only what is asked
// for.
func Pick(src []byte, names []string, values []Value) error {
	p := newPicker(src, names, values)
	if p.peek() != '{' {
		return p.fail("no object")
	}
	if err := p.object(); err != nil {
		return err
	}
	return p.end()
}

// PickIn is Pick for the object that is the member of src called outer, and
// returns that member. If it is not an object or does not exist, all values are
// nil. same reports that Append would only copy the member; it may be false for
// such a member, too.
func PickIn(src []byte, outer string, names []string, values []Value) (member Value, same bool, err error) {
	p := newPicker(src, names, values)
	if p.peek() != '{' {
		return nil, false, p.fail("no object")
	}
	if err := p.enter(); err != nil {
		return nil, false, err
	}
	for first := true; ; first = false {
		ok, err := p.more(first, '}')
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return member, same, p.end()
		}
		name, err := p.member()
		if err != nil {
			return nil, false, err
		}
		if string(name) != outer {
			if err := p.skip(); err != nil {
				return nil, false, err
			}
			continue
		}
		if member, same, err = p.inside(); err != nil {
			return nil, false, err
		}
	}
}

// A picker reads an object for some of its members.
type picker struct {
	scanner
	names  []string
	values []Value
}

func newPicker(src []byte, names []string, values []Value) picker {
	clear(values[:len(names)])
	return picker{scanner{src: src}, names, values}
}

// object reads an object.
func (p *picker) object() error {
	if err := p.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		ok, err := p.more(first, '}')
		if !ok {
			return err
		}
		name, err := p.member()
		if err != nil {
			return err
		}
		value, err := p.value()
		if err != nil {
			return err
		}
		p.note(name, value)
	}
}

// member reads the name of a member and the colon after it.
func (p *picker) member() ([]byte, error) {
	if p.peek() != '"' {
		return nil, p.fail("no member name")
	}
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	return name[1 : len(name)-1], p.colon()
}

// inside reads the value to look into.
func (p *picker) inside() (v Value, same bool, err error) {
	clear(p.values)
	p.peek()
	start := p.pos
	if p.at('{') {
		r := tidyReader{src: p.src, names: p.names, values: p.values}
		if end := r.object(start); end != untidy {
			p.pos = end
			return p.src[start:end], true, nil
		}
		clear(p.values)
		err = p.object()
	} else {
		err = p.skip()
	}
	return p.src[start:p.pos], false, err
}

// note keeps a member that is asked for.
func (p *picker) note(name []byte, value Value) {
	for i := range p.names {
		if string(name) == p.names[i] {
			p.values[i] = value
		}
	}
}
