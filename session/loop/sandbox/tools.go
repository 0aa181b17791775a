package sandbox

import (
	"context"
	"errors"

	"github.com/sesslog/sesslog/session/loop"
)

type readArgs struct {
	Path string `json:"path" jsonschema:"the file, below the working directory"`
}

type writeArgs struct {
	Path    string `json:"path" jsonschema:"the file, below the working directory"`
	Content string `json:"content" jsonschema:"its new content"`
}

type bashArgs struct {
	Command string `json:"command" jsonschema:"the command for the shell"`
}

// Tools returns the tools read, write and bash, which work in the sandbox of s. Reading
// and writing a file can be repeated, a command cannot.
func Tools(s *Slot) ([]loop.Tool, error) {
	read, err := loop.NewTool("read", "Reads a file.", loop.Repeat, func(ctx context.Context, a readArgs) (any, error) {
		return in(ctx, s, func(b Box) (any, error) { return b.Read(a.Path) })
	})
	write, err2 := loop.NewTool("write", "Writes a file, in place of its old content.", loop.Repeat, func(ctx context.Context, a writeArgs) (any, error) {
		return in(ctx, s, func(b Box) (any, error) { return b.Write(a.Path, []byte(a.Content)) })
	})
	bash, err3 := loop.NewTool("bash", "Runs a command in the working directory.", loop.Once, func(ctx context.Context, a bashArgs) (any, error) {
		return in(ctx, s, func(b Box) (any, error) { return b.Run(ctx, a.Command) })
	})
	return []loop.Tool{bash, read, write}, errors.Join(err, err2, err3)
}

// in calls f with the sandbox of s. Errors other than a *loop.Failure are of the kind
// io.
func in(ctx context.Context, s *Slot, f func(Box) (any, error)) (any, error) {
	h, err := s.Require(ctx)
	var result any
	if err == nil {
		result, err = f(h)
	}
	if _, ok := errors.AsType[*loop.Failure](err); err != nil && !ok {
		return nil, &loop.Failure{Kind: "io", Message: err.Error()}
	}
	return result, err
}
