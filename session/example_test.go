package session_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/core/usage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
)

// newLog returns a log in memory. Programs use a node's log instead: the method
// Log of a node's client.
func newLog() session.Log {
	return engine.NewLocal(engine.NewSessions(engine.Config{Log: engine.Plain(memlog.New("example")), Dialects: dialect.All()}), nil)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func message(role item.Role, text string) item.Item {
	return item.Item{Kind: item.Message, Role: role, Blocks: []item.Block{{Kind: item.BlockText, Text: text}}}
}

// A session in memory. With a log, use Create in place of InMemory.
func Example() {
	ctx := context.Background()
	s := must(session.InMemory("/home/dev/site", session.Options{Dialect: "pi"}))
	ids := must(s.AppendLine(ctx,
		[]byte(`{"type":"message","message":{"role":"user","content":"Which port?"}}`),
		[]byte(`{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"8080."}]}}`),
	))
	if err := s.Branch(ctx, ids[0]); err != nil {
		log.Fatal(err)
	}
	path := must(s.Path(core.Leaf{}))
	fmt.Println(len(s.Entries()), len(path))
	// Output: 2 1
}

func ExampleCreate() {
	ctx := context.Background()
	s := must(session.Create(ctx, newLog(), "/home/dev/site", session.Options{Dialect: "pi", Agent: "my-agent"}))
	must(s.Append(ctx, message(item.RoleUser, "Which port?")))
	if err := s.Close(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Saved(), len(s.Unsent()))
	// Output: true 0
}

func ExampleOpen() {
	ctx, nodes := context.Background(), newLog()
	s := must(session.Create(ctx, nodes, "/home/dev/site", session.Options{ID: "session-1", Access: session.Shared}))
	must(s.Append(ctx, message(item.RoleUser, "Which port?")))

	reader := must(session.Open(ctx, nodes, "session-1", session.Options{Access: session.ReadOnly}))
	fmt.Println(reader.Header().CWD, len(reader.Entries()))

	_, err := session.Open(ctx, nodes, "session-2", session.Options{})
	fmt.Println(errors.Is(err, core.ErrNotFound))
	// Output:
	// /home/dev/site 1
	// true
}

// All items of one call are one record: a reader sees all of them or none.
func ExampleSession_Append() {
	ctx := context.Background()
	s := must(session.Create(ctx, newLog(), "/home/dev/site", session.Options{}))
	answer := message(item.RoleAssistant, "8080.")
	answer.Provider, answer.Model, answer.Stop = "example", "model-1", item.StopEnd
	ids := must(s.Append(ctx, message(item.RoleUser, "Which port?"), answer))
	last, _ := s.LeafEntry()
	fmt.Println(len(ids), last.ID == ids[1], last.Parent == ids[0])
	// Output: 2 true true
}

func ExampleSession_Branch() {
	ctx := context.Background()
	s := must(session.Create(ctx, newLog(), "/home/dev/site", session.Options{}))
	first := must(s.Append(ctx, message(item.RoleUser, "Which port?")))
	must(s.Append(ctx, message(item.RoleUser, "And which host?")))
	if err := s.Branch(ctx, first[0]); err != nil {
		log.Fatal(err)
	}
	must(s.Append(ctx, message(item.RoleUser, "Which protocol?")))
	fmt.Println(len(s.Children(first[0])), len(must(s.Path(core.Leaf{}))))
	// Output: 2 2
}

// A writer that lost its head keeps its work on another head.
func ExampleSession_BranchOff() {
	ctx, nodes := context.Background(), newLog()
	laptop := must(session.Create(ctx, nodes, "/home/dev/site", session.Options{ID: "session-1", Host: "laptop"}))
	server := must(session.Open(ctx, nodes, "session-1", session.Options{Host: "server", Access: session.TakeOver}))
	must(server.Append(ctx, message(item.RoleUser, "From the server.")))

	_, err := laptop.Append(ctx, message(item.RoleUser, "From the laptop."))
	var fenced *core.FencedError
	if errors.As(err, &fenced) {
		fmt.Println("the head is held on host", fenced.Holder.Host)
	}
	if err := laptop.BranchOff(ctx, "laptop"); err != nil {
		log.Fatal(err)
	}
	head, _ := laptop.Head()
	fmt.Println(head, len(laptop.Unsent()))
	// Output:
	// the head is held on host server
	// laptop 0
}

// What a session cost, by model. Claude Code and Codex write tokens only: prices
// estimate their cost.
func ExampleSession_Usage() {
	ctx := context.Background()
	s := must(session.Create(ctx, newLog(), "/home/dev/site", session.Options{Dialect: "pi"}))
	must(s.AppendLine(ctx,
		[]byte(`{"type":"message","message":{"role":"assistant","provider":"anthropic","model":"claude-opus-4-8","content":[],"usage":{"input":1000,"output":100,"cost":{"total":0.0075}}}}`),
		[]byte(`{"type":"message","message":{"role":"assistant","provider":"local","model":"tuned","content":[],"usage":{"input":500,"output":50}}}`),
	))
	used := must(s.Usage())
	prices := must(usage.ReadPrices([]byte(`{"models":{"tuned":{"input":1,"output":2}}}`)))
	usage.Listed().With(prices).Estimate(&used)
	for _, m := range used.Models {
		fmt.Println(m.Model, m.Input, m.Output, m.Cost, m.Estimate)
	}
	// Output:
	// anthropic/claude-opus-4-8 1000 100 0.0075 0
	// local/tuned 500 50 0 0.0006
}

// A shared writer that was not first puts its entries after those of the other, or
// drops them.
func ExampleSession_Rebase() {
	ctx, nodes := context.Background(), newLog()
	ann := must(session.Create(ctx, nodes, "/home/dev/site", session.Options{ID: "session-1", Access: session.Shared}))
	bob := must(session.Open(ctx, nodes, "session-1", session.Options{Access: session.Shared}))
	must(ann.Append(ctx, message(item.RoleUser, "From ann.")))

	_, err := bob.Append(ctx, message(item.RoleUser, "From bob."))
	fmt.Println(errors.Is(err, core.ErrConflict), len(bob.Unsent()))
	if err := bob.Rebase(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = ann.Append(ctx, message(item.RoleUser, "Again from ann."))
	dropped := must(ann.Discard(ctx))
	fmt.Println(errors.Is(err, core.ErrConflict), len(dropped), bob.Cursor().Seq)
	// Output:
	// true 1
	// true 1 3
}

// A fork has all entries. Follow shows what others write to it.
func ExampleSession_Fork() {
	ctx, nodes := context.Background(), newLog()
	s := must(session.Create(ctx, nodes, "/home/dev/site", session.Options{}))
	must(s.Append(ctx, message(item.RoleUser, "Which port?")))
	fork := must(s.Fork(ctx, "/home/dev/other", session.Options{}))
	reader := must(session.Open(ctx, nodes, fork.ID(), session.Options{Access: session.ReadOnly}))
	must(fork.Append(ctx, message(item.RoleUser, "And which host?")))
	seen := errors.New("seen")
	err := reader.Follow(ctx, func() error {
		if len(reader.Entries()) == 2 {
			return seen
		}
		return nil
	})
	fmt.Println(err, reader.Dialect().Name(), len(s.Entries()))
	// Output: seen pi 1
}
