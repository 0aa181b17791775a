package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:7433", "the server; several nodes of one log, separated by commas")
	token := flag.String("token", os.Getenv("SESS_TOKEN"), "an access token with all rights")
	kill := flag.String("kill", "", "a shell command that kills the server, without a warning, and starts it again")
	only := flag.String("run", "", "run only the scenarios whose name contains this")
	list := flag.Bool("list", false, "list the scenarios, without running them")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "suite: %q is no flag: give the server with -url\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all, err := scenarios()
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
	if *list {
		for _, s := range all {
			fmt.Printf("%-20s %s\n", s.Name, s.Promise)
		}
		return
	}
	s := &server{urls: strings.Split(*url, ","), token: *token}
	if *kill != "" {
		s.kill = func(ctx context.Context) error {
			cmd := exec.CommandContext(ctx, "sh", "-c", *kill)
			cmd.Stderr = os.Stderr
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("-kill %q: %w", *kill, err)
			}
			return nil
		}
	}
	if err := s.check(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
	if score := judge(ctx, s, all, *only, os.Stdout); score.failed() || ctx.Err() != nil {
		os.Exit(1)
	}
}
