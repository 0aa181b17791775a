package nova_test

import (
	"context"
	"log"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core/prune"
	"github.com/sesslog/sesslog/session/nova"
)

// A program that keeps its sessions for a day, and at most 100 of them.
func ExampleSessions_Run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	nodes := client.ClientOf([]string{"http://127.0.0.1:7433"}, "" /* no token */)
	sessions := nova.New(nova.Config{Log: nodes.Log(), Cleanup: &prune.Limits{MaxAge: 24 * time.Hour, Keep: 100}})
	go func() { _ = sessions.Run(ctx) }()

	id, err := sessions.GetOrCreate(ctx, nil, nova.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := sessions.RunTask(ctx, id, nil); err != nil {
		log.Fatal(err)
	}
}
