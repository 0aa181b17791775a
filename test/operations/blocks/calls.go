package blocks

import (
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Call is a program call with its arguments. Expansions of variables and
// commands are the word x.
type Call struct {
	Line  int
	Args  []string
	Prose bool // in a line of text, where arguments may be missing
}

func (c Call) String() string { return fmt.Sprintf("line %d: %s", c.Line, strings.Join(c.Args, " ")) }

// Calls returns every call of the program in the document at doc: in shell blocks,
// in indented blocks, and in spans that begin with its name. The program may also
// be called by a path or by `go run ./cmd/PROGRAM`. Invalid shell syntax is an
// error.
func Calls(doc, program string) ([]Call, error) {
	all, err := Read(doc)
	if err != nil {
		return nil, err
	}
	var calls []Call
	for _, b := range all {
		if !b.names(program) {
			continue
		}
		some, err := b.calls(program)
		if err != nil {
			return nil, fmt.Errorf("%s: the block at line %d: %w", doc, b.Line, err)
		}
		calls = append(calls, some...)
	}
	return calls, nil
}

// names reports whether there can be a call of the program in b.
func (b Block) names(program string) bool {
	if b.Span {
		return strings.HasPrefix(b.Text, program+" ")
	}
	return (b.Lang == "" || b.Lang == "sh") && strings.Contains(b.Text, program)
}

func (b Block) calls(program string) ([]Call, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(b.Text), "")
	if err != nil {
		return nil, err
	}
	var calls []Call
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var words []string
		for _, w := range call.Args {
			words = append(words, plain(w))
		}
		if len(words) > 2 && words[0] == "go" && words[1] == "run" {
			words = words[2:]
		}
		if len(words) > 0 && path.Base(words[0]) == program {
			calls = append(calls, Call{b.Line + int(call.Pos().Line()) - 1, words[1:], b.Span})
		}
		return true
	})
	return calls, nil
}

// plain returns a word without its quotes.
func plain(w *syntax.Word) string {
	var out strings.Builder
	var write func([]syntax.WordPart)
	write = func(parts []syntax.WordPart) {
		for _, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit:
				out.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
			case *syntax.SglQuoted:
				out.WriteString(p.Value)
			case *syntax.DblQuoted:
				write(p.Parts)
			default:
				out.WriteString("x")
			}
		}
	}
	write(w.Parts)
	return out.String()
}
