package session_test

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A session in memory; with a log, session.Create in place of InMemory.
func Example() {
	ctx := context.Background()
	s, err := session.InMemory("/home/dev/site", session.Options{Dialect: "pi"})
	if err != nil {
		panic(err)
	}
	ids, err := s.AppendLine(ctx,
		[]byte(`{"type":"message","message":{"role":"user","content":"Which port?"}}`),
		[]byte(`{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"8080."}]}}`),
	)
	if err != nil {
		panic(err)
	}
	if err := s.Branch(ctx, ids[0]); err != nil {
		panic(err)
	}
	path, err := s.Path(core.Leaf{})
	fmt.Println(len(s.Entries()), len(path), err)
	// Output: 2 1 <nil>
}
