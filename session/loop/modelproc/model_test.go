package modelproc_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/modelproc"
)

// process says that this process is one of a Model, in its environment.
const process = "SESS_TEST_MODELPROC"

func TestMain(m *testing.M) {
	if os.Getenv(process) == "" {
		os.Setenv(process, "yes") // for the processes of the tests
		os.Exit(m.Run())
	}
	if err := modelproc.Serve(context.Background(), os.Stdin, os.Stdout, open); err != nil {
		os.Exit(1)
	}
}

// A scripted model replies with what it was asked.
type scripted struct{ name string }

func open(name string) (loop.Streamer, error) {
	switch name {
	case "unknown":
		return nil, errors.New("there is no such model")
	case "babbles":
		os.Stdout.WriteString("hello")
		os.Exit(0)
	case "dies":
		os.Stderr.WriteString("out of memory\n")
		os.Exit(3)
	}
	return scripted{name}, nil
}

func (s scripted) Complete(ctx context.Context, q loop.Request) (loop.Reply, error) {
	return s.Stream(ctx, q, func(loop.Delta) {})
}

func (s scripted) Stream(ctx context.Context, q loop.Request, show func(loop.Delta)) (loop.Reply, error) {
	text := q.Messages[0].Text
	show(loop.Delta{Text: text})
	if s.name == "hangs" {
		<-ctx.Done()
		return loop.Reply{}, ctx.Err()
	}
	call := loop.Call{ID: "c", Name: q.Tools[0].Name, Arguments: `{"a":"<é>"}`}
	show(loop.Delta{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
	return loop.Reply{Text: text, Calls: []loop.Call{call}, Usage: &loop.Usage{Prompt: 3, Completion: 2, Total: 5}, Finish: loop.FinishTools}, nil
}

var request = loop.Request{Messages: []loop.Message{{Role: loop.User, Text: "grüß <dich>\n"}}, Tools: []loop.Spec{{Name: "read", Schema: []byte(`{"type":"object"}`)}}}

func TestRepliesCrossTheProcess(t *testing.T) {
	t.Parallel()
	want, err := scripted{}.Complete(t.Context(), request)
	testkit.Must(t, err)
	m := modelproc.New(os.Args[0], "m")
	got, err := m.Complete(t.Context(), request)
	testkit.Must(t, err)
	testkit.Equal(t, "reply", want, got)
	var shown loop.Reply
	got, err = m.Stream(t.Context(), request, func(d loop.Delta) {
		if shown.Text += d.Text; d.Text == "" {
			shown.Calls = append(shown.Calls, loop.Call{ID: d.ID, Name: d.Name, Arguments: d.Arguments})
		}
	})
	testkit.Must(t, err)
	testkit.Equal(t, "streamed reply", want, got)
	testkit.Equal(t, "pieces", loop.Reply{Text: want.Text, Calls: want.Calls}, shown)
}

func TestFailuresOfTheProcessAreErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, name, want string }{
		{os.Args[0], "unknown", "there is no such model"},
		{os.Args[0], "dies", "no reply (EOF), exit status 3: out of memory"},
		{os.Args[0], "babbles", ": the program gave no reply (invalid character 'h' looking for beginning of value), exit status 0"},
		{"/does/not/exist", "m", "/does/not/exist"},
	} {
		if r, err := modelproc.New(c.program, c.name).Complete(t.Context(), request); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("reply %+v, error %v; want %s", r, err, c.want)
		}
	}
}

// The caller can end a request, and the process ends with its caller.
func TestProcessEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := modelproc.New(os.Args[0], "hangs").Stream(ctx, request, func(loop.Delta) { cancel() })
	testkit.WantErr(t, err, context.Canceled)

	r, w := io.Pipe()
	out, answers := io.Pipe()
	ended := make(chan error)
	go func() { ended <- modelproc.Serve(t.Context(), r, answers, open) }()
	go func() {
		_, _ = io.WriteString(w, `{"Model":"hangs","Stream":true,"Request":{"Messages":[{"Role":"user","Text":"x"}]}}`+"\n")
		_, _ = out.Read(make([]byte, 100)) // the first piece
		w.Close()                          // the caller dies
		_, _ = io.Copy(io.Discard, out)
	}()
	testkit.Must(t, <-ended)
}
