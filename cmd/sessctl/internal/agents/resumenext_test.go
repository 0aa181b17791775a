package agents

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func TestNextCommandIsQuotedForTheShell(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "sessctl"), []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/a/b.jsonl", "/my work/b.jsonl", "/ann's/$(touch x)/;b&.jsonl", `/"a"\b*.jsonl`, "~/b.jsonl"} {
		var said strings.Builder
		a := app{cli.New(func(string) string { return "" }, strings.NewReader(""), io.Discard, io.Discard)}
		a.Stderr = cli.Screen{Writer: &said, TTY: true}
		a.noteNext(&agent.Resumed{Dialect: "pi", Path: path, ID: "01aaaaaaaaaaaaaaaaaaaaaaaa", Claim: &api.Claimed{Head: "main"}})
		_, rest, _ := strings.Cut(said.String(), "start the agent on it with: ")
		command, _, _ := strings.Cut(rest, "\n")
		sh := exec.Command("sh", "-c", command)
		sh.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=/nowhere"}
		sh.Dir = t.TempDir()
		got, err := sh.CombinedOutput()
		if want := "run\n--\npi\n--session\n" + path + "\n"; err != nil || string(got) != want {
			t.Errorf("%s: %s is\n%s%v", path, command, got, err)
		}
	}
}
