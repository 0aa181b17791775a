package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// The environment of a process that runs a loop: the URLs of a node and of the world,
// and the session.
const (
	loopHost    = "SESS_E2E_LOOP_NODE"
	loopWorld   = "SESS_E2E_LOOP_WORLD"
	loopSession = "SESS_E2E_LOOP_SESSION"
)

// runLoop is the program of such a process. It continues the session until the run is
// over.
func runLoop() int {
	if err := untilReached(func() error { return continueLoop(context.Background()) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// untilReached repeats f as long as a busy cluster does not answer.
func untilReached(f func() error) error {
	for {
		if err := f(); !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) {
			return err
		}
	}
}

func continueLoop(ctx context.Context) error {
	nodes := client.ClientOf([]string{os.Getenv(loopHost)}, "").Log()
	s, err := session.Open(ctx, nodes, core.SessionID(os.Getenv(loopSession)), session.Options{Access: session.TakeOver, Agent: "loop"})
	if err != nil {
		return err
	}
	world := remoteWorld(os.Getenv(loopWorld))
	l, err := loop.New(s, loop.Config{
		Model: world, Agent: openrath.NewTable(openrath.SystemText("be kind")),
		Tools: []loop.Tool{world.tool("send", loop.Once, nil), world.tool("write", loop.Repeat, nil), world.tool("read", loop.Repeat, loop.Parallel)},
	})
	if err != nil {
		return err
	}
	if _, err := l.Run(ctx); err != nil {
		return err
	}
	return l.Close(ctx)
}

// A remoteWorld is the URL of a loopRun.
type remoteWorld string

// Complete implements loop.Model.
func (w remoteWorld) Complete(ctx context.Context, q loop.Request) (r loop.Reply, err error) {
	err = w.ask(ctx, "model", q, &r)
	return r, err
}

func (w remoteWorld) tool(name string, p loop.Policy, key func(loop.Call) (string, error)) loop.Tool {
	return loop.Tool{Spec: loop.Spec{Name: name}, Policy: p, Key: key, Run: func(ctx context.Context, args json.RawMessage) (any, error) {
		var answer json.RawMessage
		err := w.ask(ctx, name, args, &answer)
		return answer, err
	}}
}

func (w remoteWorld) ask(ctx context.Context, what string, q, answer any) error {
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(w)+"/"+what, bytes.NewReader(b))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(answer)
}
