package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal terminates the program at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the program and returns its exit code.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := app{cli.New(env, stdin, stdout, stderr)}
	root := a.root()
	root.SetArgs(args)
	a.GuessFormat(args)
	cmd, err := root.ExecuteContextC(ctx)
	return a.Finish(cmd, err)
}
