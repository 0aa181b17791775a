package main

import (
	"testing"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func TestLoopRefusesWhatItCannotRun(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	model := []string{"loop", "--model", "openai/m", "go"}
	for _, c := range []struct {
		args []string
		code int
		errs string
	}{
		{[]string{"loop", "go"}, cli.ExitUsage, "--model VENDOR/NAME"},
		{[]string{"loop", "--model", "m", "go"}, cli.ExitUsage, "not of the form VENDOR/NAME"},
		{[]string{"loop", "--model", "acme/m", "go"}, cli.ExitUsage, "the vendor anthropic or openai"},
		{[]string{"loop", "--model", "openai/m"}, cli.ExitUsage, "nothing to ask"},
		{append(model, "--tools", "read,sudo"), cli.ExitUsage, `no tool "sudo"`},
		{append(model, "--dir", "/does/not/exist"), cli.ExitNotFound, "hint: name a directory of this host"},
		{[]string{"loop", "--resume", ""}, cli.ExitUsage, "--resume is empty"},
		{[]string{"loop", "--resume", testID, "--system", "x"}, cli.ExitUsage, "exclude each other"},
	} {
		wantResult(t, f.run(c.args...), c.code, "", c.errs)
	}
}
