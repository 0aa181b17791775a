package main

import (
	"errors"
	"strings"
)

// A call is a line that was read.
type call struct {
	verb    string
	args    []string
	options map[string]string
}

// parse splits a line at blanks outside of quotes.
func parse(line string) (call, error) {
	c := call{options: map[string]string{}}
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return c, nil
		}
		word, rest, err := cut(line)
		if err != nil {
			return c, err
		}
		key, value, option := strings.Cut(word, "=")
		switch {
		case c.verb == "":
			c.verb = word
		case option && line[0] != '\'' && line[0] != '{':
			c.options[key] = value
		default:
			c.args = append(c.args, word)
		}
		line = rest
	}
}

// cut returns the first word of line.
func cut(line string) (word, rest string, err error) {
	if line[0] == '{' {
		return line, "", nil
	}
	if line[0] != '\'' {
		word, rest, _ = strings.Cut(line, " ")
		return word, rest, nil
	}
	word, rest, ok := strings.Cut(line[1:], "'")
	if !ok {
		return "", "", errors.New("the quote does not end")
	}
	return word, rest, nil
}

// arg returns an argument, or the empty string if it is missing.
func (c call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}
