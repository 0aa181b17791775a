package omp

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A node is a JSON value that can be changed in place.
type node struct {
	text  jsjson.Value // of anything but an object or an array
	open  byte         // '{' or '[' of an object or array, otherwise 0
	names [][]byte     // of the members of an object, with their quotes
	items []*node
}

// readNode reads text, which is as JSON.stringify writes it: lone surrogates
// may be in it.
func readNode(text []byte) (*node, error) {
	return nextNode(jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true)))
}

func nextNode(d *jsontext.Decoder) (*node, error) {
	open := d.PeekKind()
	if open != '{' && open != '[' {
		v, err := d.ReadValue()
		return &node{text: bytes.Clone(v)}, err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	n := &node{open: byte(open)}
	for k := d.PeekKind(); k != '}' && k != ']'; k = d.PeekKind() {
		if open == '{' {
			name, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			n.names = append(n.names, bytes.Clone(name))
		}
		item, err := nextNode(d)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.ReadToken()
	return n, err
}

// get returns the member called name, or an empty node if there is none.
func (n *node) get(name string) *node {
	for i, quoted := range n.names {
		if len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name {
			return n.items[i]
		}
	}
	return &node{}
}

func (n *node) has(name string) bool {
	m := n.get(name)
	return m.open != 0 || m.text != nil
}

// drop takes the member called name away and reports whether it was there.
func (n *node) drop(name string) bool {
	for i, quoted := range n.names {
		if string(quoted[1:len(quoted)-1]) == name {
			n.names = append(n.names[:i:i], n.names[i+1:]...)
			n.items = append(n.items[:i:i], n.items[i+1:]...)
			return true
		}
	}
	return false
}

func (n *node) is(text string) bool { return n.text.Is(text) }

// isText reports whether n is a string with something in it.
func (n *node) isText() bool { return n.text.Kind() == '"' && len(n.text) > 2 }

func (n *node) appendTo(b []byte) []byte {
	if n.open == 0 {
		return append(b, n.text...)
	}
	b = append(b, n.open)
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		if n.open == '{' {
			b = append(append(b, n.names[i]...), ':')
		}
		b = item.appendTo(b)
	}
	return append(b, n.open+2) // as '}' is to '{', and ']' to '['
}
