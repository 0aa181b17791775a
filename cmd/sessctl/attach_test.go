package main

import (
	"testing"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func TestAttachRejectsInvalidFlags(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	wantResult(t, f.run("attach", "-n", "-1", "session-1"), cli.ExitUsage, "", "--last is below 0")
	wantResult(t, f.run("attach", "--head", "no head", "session-1"), cli.ExitInvalid, "", "head")
}
