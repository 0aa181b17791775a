package main

import (
	"context"
	"fmt"
)

// openArgs are the arguments by which an agent opens the session file at path;
// none for an agent of which it is not known: it finds the file where it looks
// for its sessions.
func openArgs(dialect, path string) []string {
	switch dialect {
	case "pi":
		return []string{"--session", path}
	case "omp":
		return []string{"--resume", path}
	}
	return nil
}

// resumeAgent starts the agent on the file that was written, and follows it with
// the claim that was taken.
func (a *app) resumeAgent(ctx context.Context, argv []string, f *agentFile) error {
	argv = append(argv[:len(argv):len(argv)], openArgs(f.agent, f.path)...)
	code, err := a.runAgent(ctx, argv, runOptions{dir: f.where.here(), file: f.path, session: f.session, dialect: f.agent, claim: f.claim})
	if err != nil {
		err = fmt.Errorf("the file is written and the head is held, but the agent did not start: %w", err)
	}
	return ended(code, err)
}
