package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// Programs name the nodes of their log, for example http://127.0.0.1:7433.
func Example() {
	ctx := context.Background()
	c := client.ClientOf([]string{nodeURL}, "" /* no token */)
	made, err := c.Create(ctx, api.Create{ID: "session-1", Dialect: "pi", CWD: "/home/dev/site"})
	if err != nil {
		log.Fatal(err)
	}
	line := `{"type":"message","message":{"role":"user","content":"Which port?"}}`
	done, err := c.Append(ctx, string(made.ID), []byte(line), client.AppendOptions{Key: "turn-1"})
	if err != nil {
		log.Fatal(err)
	}
	again, err := c.Append(ctx, string(made.ID), []byte(line), client.AppendOptions{Key: "turn-1"}) // is stored once
	fmt.Println(done.Stored, again.Stored, err)
	// Output: 1 0 <nil>
}

const file = `{"type":"session","version":3,"id":"session-2","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/dev/site"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"Which port?"}}
`

// An import adds the entries that the log does not have.
func ExampleClient_Import() {
	ctx := context.Background()
	c := client.ClientOf([]string{nodeURL}, "")
	for range 2 {
		done, err := c.Import(ctx, strings.NewReader(file), int64(len(file)), client.ImportOptions{By: "ada"})
		fmt.Println(done.Session, done.Entries, err)
	}
	// Output:
	// session-2 1 <nil>
	// session-2 0 <nil>
}

// A large file is sent in parts. If the program ends before the import does, the
// next one sends only the parts that the log does not have.
func ExampleClient_ImportLarge() {
	ctx := context.Background()
	c := client.ClientOf([]string{nodeURL}, "")
	content := []byte(strings.ReplaceAll(file, "session-2", "session-3"))
	large := client.Large{Bytes: bytes.NewReader(content), Size: int64(len(content))}
	large.Sent = func(n int64) { fmt.Println(n, "bytes stored") }
	done, err := c.ImportLarge(ctx, large, client.ImportOptions{})
	fmt.Println(done.Session, done.Entries, err)
	// Output:
	// 244 bytes stored
	// session-3 1 <nil>
}

// Log gives package session a node's log.
func ExampleClient_Log() {
	ctx := context.Background()
	c := client.ClientOf([]string{nodeURL}, "")
	s, err := session.Create(ctx, c.Log(), "/home/dev/site", session.Options{ID: "session-4", Agent: "my-agent"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.AppendLine(ctx, []byte(`{"type":"message","message":{"role":"user","content":"Which port?"}}`)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(s.Entries()), s.Close(ctx))
	// Output: 1 <nil>
}

// errors.Is finds the error of package core that a node's answer stands for.
func ExampleError() {
	c := client.ClientOf([]string{nodeURL}, "")
	_, err := c.Info(context.Background(), "no-such-session")
	var answer *client.Error
	fmt.Println(errors.Is(err, core.ErrNotFound), errors.As(err, &answer) && answer.Detail.Status == 404)
	// Output: true true
}
