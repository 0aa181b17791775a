package main

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

// onlyShow are the verbs that change nothing, but for a file that they are told to
// write.
var onlyShow = []string{
	"attach", "audit", "backup ls", "backup verify", "backup check", "blobs get", "blobs ls", "blobs stat", "children", "completion", "diff", "model-input",
	"contexts", "contexts ls", "entries", "export", "heads", "history", "info", "lineage", "ls", "man", "mcp", "ps", "retention check", "retention plan",
	"search", "secrets", "service status", "status", "tail", "token check", "token ls", "top", "trace", "tree", "usage", "version", "blobs", "retention", "token",
}

// noDryRun are the verbs that change something and have no dry run, and why.
var noDryRun = map[string]string{
	"doctor":          "changes nothing without --fix, and says what that would mend",
	"verify":          "changes nothing without --repair, and says what to repair",
	"blobs verify":    "changes nothing without --repair, and says what to repair",
	"backup":          "writes to a target of its own alone",
	"blobs put":       "adds bytes under their digest, which no session names yet",
	"checkpoint":      "writes what the log says already",
	"retention apply": "does what a plan says, which retention plan made and shows",
	"contexts add":    "a file of this host's, which contexts shows",
	"contexts use":    "a file of this host's, which contexts shows",
	"contexts rm":     "a file of this host's, which contexts shows",
	"token create":    "shows a secret, which a dry run cannot",
	"token rotate":    "shows a secret, which a dry run cannot",
	"token revoke":    "ends one token, by its id",
	"rescue":          "changes nothing without --repair and --to, and says what they would do",
	"acp":             "starts an agent",
	"loop":            "starts an agent",
	"run":             "starts an agent",
	"service install": "--print shows the unit",
	"service remove":  "stops a program of the user, whose data stay",
	"watch":           "follows files until it is ended; import --dry-run says what is in them",
}

// TestChangingVerbsHaveDryRun walks the verbs: one that is in no list here
// must have --dry-run or --yes.
func TestChangingVerbsHaveDryRun(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	var walk func(cmd *cobra.Command, path string)
	walk = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			name := sub.Name()
			if path != "" {
				name = path + " " + name
			}
			walk(sub, name)
			if !sub.Runnable() || sub.Hidden || name == "help" {
				continue
			}
			known[name] = true
			dry := slices.ContainsFunc([]string{"dry-run", "yes"}, func(flag string) bool { return sub.Flags().Lookup(flag) != nil })
			shows, says := slices.Contains(onlyShow, name), noDryRun[name] != ""
			if dry && (shows || says) {
				t.Errorf("%s has a dry run, and is said to need none", name)
			}
			if !dry && !shows && !says {
				t.Errorf("%s has no dry run: give it one (dryFlag), or say here why it needs none", name)
			}
		}
	}
	walk(testApp(nil).root(), "")
	for name := range noDryRun {
		if !known[name] {
			t.Errorf("there is no verb %s", name)
		}
	}
}

func TestDryRunSendsDryRunRequests(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var asked []bool
	take := func(answer any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			dry := strings.HasPrefix(r.URL.Path, "/v1/dry-run/")
			asked = append(asked, dry)
			w.Header().Set(api.HeaderDryRun, strconv.FormatBool(dry))
			_ = json.NewEncoder(w).Encode(answer)
		}
	}
	f.Mux.HandleFunc("POST /v1/dry-run/sessions/"+testID+"/claims", take(api.Claimed{Claim: core.Claim{Writer: "w1", Epoch: 2}, Head: "main"}))
	for _, at := range []string{"/v1/", "/v1/dry-run/"} {
		f.Mux.HandleFunc("POST "+at+"sessions/"+testID+"/entries", take(core.Receipt{IDs: []string{"a"}, Stored: 1, Cursor: core.Cursor{Seq: 7}}))
	}
	const said = "sessctl: dry run: nothing is stored; the result would be:\n"
	wantResult(t, f.run("claim", "--dry-run", testID), 0, "you hold head main of session "+testID, said)
	testkit.WantFiles(t, f.home, nil)
	f.stdin = "{}"
	wantResult(t, f.run("append", "--dry-run", testID), 0, "1 line stored", said)
	wantResult(t, f.run("append", testID), 0, "1 line stored", "")
	if !slices.Equal(asked, []bool{true, true, false}) {
		t.Errorf("asked for are %v", asked)
	}
	wantResult(t, f.run("claim", "--dry-run", "--hold", testID), cli.ExitUsage, "", "exclude each other")
}
