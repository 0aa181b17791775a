package modelproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/sesslog/sesslog/session/loop"
)

// A Model asks a model by a program that calls Serve, in a process for each request.
type Model struct{ program, name string }

var _ loop.Streamer = (*Model)(nil)

// New returns the model called name of a program.
func New(program, name string) *Model { return &Model{program, name} }

// A question is what the process reads. It ends when its input does.
type question struct {
	Model   string
	Stream  bool
	Request loop.Request
}

// An answer is one of the values that the process writes: pieces, and then a reply or
// an error.
type answer struct {
	Delta *loop.Delta `json:",omitzero"`
	Reply *loop.Reply `json:",omitzero"`
	Error string      `json:",omitzero"`
}

// Complete implements loop.Model.
func (m *Model) Complete(ctx context.Context, q loop.Request) (loop.Reply, error) {
	return m.ask(ctx, question{m.name, false, q}, nil)
}

// Stream implements loop.Streamer.
func (m *Model) Stream(ctx context.Context, q loop.Request, show func(loop.Delta)) (loop.Reply, error) {
	return m.ask(ctx, question{m.name, true, q}, show)
}

func (m *Model) ask(ctx context.Context, q question, show func(loop.Delta)) (loop.Reply, error) {
	cmd := exec.CommandContext(ctx, m.program)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return loop.Reply{}, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return loop.Reply{}, err
	}
	if err := cmd.Start(); err != nil {
		return loop.Reply{}, err
	}
	_ = json.NewEncoder(stdin).Encode(q) // without all of it, there is no reply
	reply, err := read(stdout, show)
	stdin.Close()
	_ = cmd.Wait() // what it wrote tells whether there is a reply
	switch {
	case ctx.Err() != nil:
		return loop.Reply{}, ctx.Err()
	case errors.Is(err, errNoReply):
		text := fmt.Sprintf("%s: %v, %v: %.500s", m.program, err, cmd.ProcessState, stderr.String())
		return loop.Reply{}, errors.New(strings.TrimRight(text, ": \n"))
	}
	return reply, err
}

// errNoReply says that a program wrote something that Serve does not write, or ended.
var errNoReply = errors.New("the program gave no reply")

// read reads answers until a reply or an error.
func read(r io.Reader, show func(loop.Delta)) (loop.Reply, error) {
	for d := json.NewDecoder(r); ; {
		var a answer
		switch err := d.Decode(&a); {
		case err != nil:
			return loop.Reply{}, fmt.Errorf("%w (%v)", errNoReply, err)
		case a.Error != "":
			return loop.Reply{}, errors.New(a.Error)
		case a.Reply != nil:
			return *a.Reply, nil
		case a.Delta != nil && show != nil:
			show(*a.Delta)
		}
	}
}
