package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
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

// Agents see their directory without symbolic links, so that is where pi looks for its
// file, and the directory of the sessions that it made.
func TestSymbolicLinksInTheDirectoryAreResolved(t *testing.T) {
	f := newFake(t)
	real := filepath.Join(f.home, "real")
	testkit.MakeFiles(t, real, "sub/below/")
	link := filepath.Join(testkit.TempDir(t), "link")
	testkit.Must(t, os.Symlink(real, link))
	t.Chdir(filepath.Join(link, "sub")) // sets PWD, as a shell does
	var asked, made string
	f.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("cwd")
		list := api.List{Sessions: []catalog.Row{}}
		if asked == "" && r.URL.Query().Get("sort") == "changed" {
			list.Sessions = []catalog.Row{{ID: "session-b", CWD: "/b"}, {ID: testID, CWD: link + "/sub"}}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	f.Mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		var c api.Create
		_ = json.NewDecoder(r.Body).Decode(&c)
		made = c.CWD
		_ = json.NewEncoder(w).Encode(api.Created{ID: "made-0001"})
	})

	wantResult(t, f.run("new", "--continue"), 0, "made-0001\n", "")
	testkit.Equal(t, "searched", real+"/sub", asked)
	testkit.Equal(t, "created in", real+"/sub", made)
	for arg, want := range map[string]string{
		".": real + "/sub", "..": real, "./below": real + "/sub/below", link: real, link + "/": real, link + "/gone": link + "/gone", "/lab/x/": "/lab/x", "sub": "sub",
	} {
		wantResult(t, f.run("ls", "--cwd", arg), 0, "", "no session matches")
		testkit.Equal(t, "ls --cwd "+arg, want, asked)
	}

	text := strings.Replace(talk("a"), `"cwd":"/"`, `"cwd":"`+link+`/sub"`, 1)
	givesFile(t, f, text)
	for dir, args := range map[string][]string{real + "/sub": {"--last"}, real: {testID, "--cwd", link}} {
		wantResult(t, f.run(append([]string{"resume"}, args...)...), 0, "", "it continues in "+dir)
		folder := "--" + strings.ReplaceAll(dir[1:], "/", "-") + "--"
		testkit.WantFiles(t, filepath.Join(f.home, ".pi/agent/sessions", folder), map[string]string{talkFile: strings.Replace(text, link+"/sub", dir, 1)})
	}
}
