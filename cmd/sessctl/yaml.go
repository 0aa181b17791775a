package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlOf returns JSON values as YAML, each a document of its own: the same
// members in the same order, numbers to the digit.
func yamlOf(b []byte, tty bool) ([]byte, error) {
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	for {
		n, err := yamlNode(d, tty)
		if err == io.EOF {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("as YAML: %w", err)
		}
		out.WriteString("---\n")
		e := yaml.NewEncoder(&out)
		e.SetIndent(2)
		if err := e.Encode(n); err != nil {
			return nil, fmt.Errorf("as YAML: %w", err)
		}
		if err := e.Close(); err != nil {
			return nil, fmt.Errorf("as YAML: %w", err)
		}
	}
}

// yamlItem returns a JSON value as one item of a list in YAML.
func yamlItem(b []byte, tty bool) ([]byte, error) {
	list := append(append([]byte{'['}, b...), ']')
	doc, err := yamlOf(list, tty)
	return bytes.TrimPrefix(doc, []byte("---\n")), err
}

// yamlNode reads the next value of d.
func yamlNode(d *json.Decoder, tty bool) (*yaml.Node, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case json.Delim:
		return yamlNodes(d, v, tty)
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(v.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.String()}, nil
	case string:
		return yamlText(v, tty), nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}

// yamlNodes reads the rest of an object or a list.
func yamlNodes(d *json.Decoder, open json.Delim, tty bool) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if open == '{' {
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	for d.More() {
		child, err := yamlNode(d, tty) // a name, or a value
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	if _, err := d.Token(); err != nil { // what closes it
		return nil, err
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n, nil
}

// yamlText is a string. On a terminal, what that would obey is made visible.
func yamlText(s string, tty bool) *yaml.Node {
	if tty {
		s = strings.Map(func(r rune) rune {
			if isTrick(r) && r != '\n' && r != '\t' {
				return '\uFFFD'
			}
			return r
		}, s)
	}
	n := &yaml.Node{}
	n.SetString(s)
	return n
}
