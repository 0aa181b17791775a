package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// port is a model that looks into a file before it answers.
func port() loop.Model {
	return &script{replies: []loop.Reply{
		calls(loop.Call{ID: "c1", Name: "read", Arguments: `{"path":"server.toml"}`}),
		says("8080."),
	}}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

type readArgs struct {
	Path string `json:"path" jsonschema:"the file to read"`
}

func read() loop.Tool {
	return must(loop.NewTool("read", "Reads a file.", loop.Repeat, func(_ context.Context, a readArgs) (any, error) {
		return loop.File{Data: "port = 8080"}, nil
	}))
}

func Example() {
	ctx, nodes := context.Background(), newLog() // as a rule the Log of a client.Client
	question := openrath.FromUserMessage(loop.NewID(), "Which port?")
	agent := openrath.FromAgentPrompt(loop.NewID(), "You answer questions about this project.")

	l := must(loop.Start(ctx, nodes, question, agent, loop.Config{Model: port(), Tools: []loop.Tool{read()}}, session.Options{}))
	result := must(l.Run(ctx))
	if err := l.Close(ctx); err != nil {
		log.Fatal(err)
	}
	for _, m := range l.Messages() {
		fmt.Printf("%s: %q\n", m.Role, m.Text)
	}
	fmt.Println(result.Reason)
	// Output:
	// user: "Which port?"
	// assistant: ""
	// tool_result: "{\"data\": \"port = 8080\"}"
	// assistant: "8080."
	// stop
}

// Another host continues a run whose host died: it takes the session over, and
// gives New what Start got.
func ExampleNew() {
	ctx, nodes := context.Background(), newLog()
	config := loop.Config{Model: port(), Tools: []loop.Tool{read()}}
	dead := must(loop.Start(ctx, nodes, openrath.FromUserMessage(loop.NewID(), "Which port?"), openrath.Session{ID: loop.NewID()}, config, session.Options{}))

	s := must(session.Open(ctx, nodes, dead.Session().ID(), session.Options{Access: session.TakeOver, Agent: "my-agent"}))
	l := must(loop.New(s, config))
	fmt.Println(must(l.Run(ctx)).Text)

	_, err := dead.Run(ctx)
	fmt.Println(errors.Is(err, core.ErrFenced))
	// Output:
	// 8080.
	// true
}

func ExampleCompress() {
	ctx, nodes := context.Background(), newLog()
	talk := openrath.FromUserMessage(loop.NewID(), "Which port? And why? Please tell me everything.")
	short := must(loop.Compress(ctx, nodes, talk, openrath.Session{ID: loop.NewID()}, loop.Compression{
		Model: &script{replies: []loop.Reply{says("The user wants to know the port.")}},
	}, session.Options{}))
	fmt.Println(short.Rows.At(0).Content())
	// Output: The user wants to know the port.
}

// The output of a run is there at once. Its rows are there when the run is over, or,
// for a tool of the run itself, as far as it has come.
func ExampleLoop_Go() {
	ctx, nodes := context.Background(), newLog()
	count := must(loop.NewTool("count", "Counts the messages.", loop.Repeat, func(ctx context.Context, _ struct{}) (any, error) {
		return len(loop.Transcript(ctx)), nil
	}))
	count.Key = loop.Parallel
	model := &script{replies: []loop.Reply{calls(call("c1", "count")), says("There are two.")}}
	s := must(session.Create(ctx, nodes, "/home/dev/site", session.Options{Dialect: "openrath", ID: loop.NewID()}))
	l := must(loop.New(s, loop.Config{Model: model, Tools: []loop.Tool{count}}))
	if err := l.Say(ctx, "How many messages are there?"); err != nil {
		log.Fatal(err)
	}
	output := l.Go(ctx)
	if err := output.Synchronize(ctx); err != nil {
		log.Fatal(err)
	}
	for _, m := range must(output.Messages(ctx)) {
		fmt.Println(m.Role)
	}
	fmt.Println(must(output.Result(ctx)).Text, output.Loop() == l)
	// Output:
	// user
	// assistant
	// tool_result
	// assistant
	// There are two. true
}
