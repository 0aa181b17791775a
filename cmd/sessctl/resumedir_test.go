package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/internal/testkit"
)

// The header of the file names the new directory, all other bytes stay, and the
// file is where the agent looks for it from there.
func TestResumeWritesTheNewDirectoryIntoTheHeader(t *testing.T) {
	t.Parallel()
	text := strings.Replace(talk("a"), `"cwd":"/"`, `"cwd":"/lab/x"`, 1)
	f, _ := resumable(t, text)
	cwd := filepath.Join(f.home, "a b", "lab.x")
	testkit.MakeFiles(t, cwd, ".")
	got := f.run("resume", testID, "--cwd", cwd)
	wantResult(t, got, 0, "", "sessctl: it continues in "+cwd+" (it was /lab/x): --cwd says so")
	dir := filepath.Join(f.home, ".pi/agent/sessions", "--"+strings.ReplaceAll(cwd[1:], "/", "-")+"--")
	testkit.WantFiles(t, dir, map[string]string{talkFile: strings.Replace(text, `"/lab/x"`, `"`+cwd+`"`, 1)})
	// It is the same session's file.
	wantResult(t, f.run("resume", testID, "--cwd", cwd, "--dir", dir, "-o", "json"), 0, `"cwd":{"from":"/lab/x","cwd":"`+cwd+`","why":"--cwd says so"}`, "")
	wantResult(t, f.run("resume", testID, "--dir", dir), 0, "", "sessctl: the session keeps its directory /lab/x, which this host does not have; choose another with: --cwd DIR")
	testkit.WantFiles(t, dir, map[string]string{talkFile: text})
	wantResult(t, f.run("resume", testID, "--", "agent"), cli.ExitNotFound, "", "the session's directory /lab/x does not exist on this host\nhint: say where to continue with: --cwd DIR")
}
