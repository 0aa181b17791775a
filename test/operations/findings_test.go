//go:build linux

package operations_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A finding is something that confused a new user or was wrong, and the command that
// shows that it is not so any more.
type finding struct {
	name    string
	input   string
	command string
	code    int
	shows   string // a regular expression for all that the command prints
	lacks   string
	test    string // that shows it, if no quick command does: PACKAGE TestName
}

// The sessions that the commands name.
const (
	oneID   = "7a1c0000-0000-4000-8000-000000000001"
	otherID = "7b1c0000-0000-4000-8000-000000000001"
)

var findings = []finding{
	{name: "B1, B20: lines that waited claim nothing, and a split is told", test: "test/e2e TestLeftoverLinesClaimNothing"},
	{name: "B2: a typo does not propose a destructive verb", command: "tre", code: 2, shows: `did you mean "tree"`},
	{name: "B3: the lineage of both parents of a merge has it", command: "lineage 7b1c", shows: `7b1c.*\n.*merge`, lacks: "not there"},
	{name: "B4: a search shows its hit", command: "search forty", shows: `forty-two`},
	{name: "B5: erase does nothing until --yes, and says so", command: "erase 7b1c", shows: `(?s)7b1c.*--yes`},
	{name: "B6: NO_COLOR is documented once", command: "help environment", shows: `NO_COLOR: if set`, lacks: "ever colou?red"},
	{name: "B7: request ids have one description", test: "api/server TestValidRequestIDIsKept"},
	{name: "B8: a cursor is called cursor, also of new sessions", command: "fork 7a1c -o json", shows: `"cursor":"1-[0-9a-f]+"`},
	{name: "B9: erase takes a prefix", command: "erase 7a1c", shows: oneID},
	{name: "B9: redact takes a prefix", command: "redact 7a1c a1b2c3d1", shows: `\[redacted\]`},
	{name: "B10: a prefix of a session that is not in the trash", command: "rm --undo 7b1c", code: 3, shows: `is not in the trash`},
	{name: "B10: the id of a session that is not in the trash", command: "rm --undo " + otherID, code: 3, shows: `is not in the trash`},
	{name: "B11: days in ls", command: "ls --since 2d"},
	{name: "B11: days in audit", command: "audit --since 2d"},
	{name: "B11: days in token", command: "token create --expires 30d x"},
	{name: "B11: days in rm", command: "rm --older-than 30d", shows: `--yes`, lacks: `\d+h\d+m`},
	{name: "B11: a duration without a unit", command: "ls --timeout 5", code: 2, shows: `use a number with a unit`},
	{name: "B12: --cwd is relative to the working directory", command: "ls --cwd .", shows: "7a1c"},
	{name: "B13: an entry without a type is refused", input: `{"foo":1}`, command: "append 7a1c", code: 4, shows: `has no type.*nothing was stored`},
	{name: "B14: a file that cannot be imported stops no other", command: "import empty one.jsonl", code: 2, shows: `2 files: 1 unchanged, 1 failed`},
	{name: "B15: bench is a verb of sessnode", command: "bench", code: 2, shows: `unknown verb`},
	{name: "B16: the states of ls are completed", command: "__complete ls --state ", shows: `claimed\ninterrupted`},
	{name: "B16: no session is completed as an entry", command: "__complete move-head 7a1c ", lacks: otherID},
	{name: "B17: heads fit the screen", command: "heads 7b1c", shows: `main  a1b2c3d4  bob@couch, `, lacks: "since"},
	{name: "B18: an export has the lines as they were stored", command: "export 7b1c", shows: `^\{"type":"session","version":3,"id":"7b1c`},
	{name: "names: model-input and contexts", command: "help --all", shows: `(?s)\n +model-input .*\n +contexts `, lacks: `\n +context `},
	{name: "names: retain and claim", command: "help --all", lacks: `\n +hold `},
	{name: "names: move-head", command: "help --all", shows: `\n +move-head `, lacks: `\n +branch `},
	{name: "help: a dozen verbs first", command: "help", shows: `--all`},
	{name: "help: examples", command: "resume --help", shows: `Examples:`},
	{name: "help: global flags on a page of their own", command: "import --help", shows: `Global flags: sessctl help flags`},
	{name: "conventions: --version", command: "--version", shows: `^sessctl `},
	{name: "conventions: delete is known", command: "delete 7a1c", code: 2, shows: `did you mean "rm"`},
	{name: "short ids, relative times, costs", command: "ls", shows: `ID +AGENT +WHEN +MSGS.*\n(?s:.*)7a1c +pi`, lacks: oneID},
	{name: "resume: without an id it offers sessions", test: "cmd/sessctl TestResumeOffersSessionsAndStartsTheAgent"},
	{name: "install: two laptops", test: "test/operations TestTwoLaptops"},
	{name: "install: a release, from its archive", test: "test/operations TestDocumentedWalkthrough"},
	{name: "size: sessctl links no server", test: "test/layers TestClientsDoNotLinkTheServer"},
}

// TestFindings runs the command of each finding of a trial as a new user.
func TestFindings(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a node")
	}
	node := harness.StartNode(t)
	h := harness.NewHost(t, node)
	when := time.Now().UTC().AddDate(0, -3, 0)
	write(t, h.Path("one.jsonl"), piFile(oneID, h.Dir, "", when, 0.21, "The number is forty-two.", "I remember."))
	write(t, h.Path("other.jsonl"), piFile(otherID, h.Dir, "", when, 0.21, "The other number is one.", "It is odd."))
	if err := os.Mkdir(h.Path("empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.Do(t, "import", "one.jsonl", "other.jsonl")
	h.Do(t, "merge", "7a1c", "7b1c")
	if _, err := node.Client().Claim(harness.Timeout(t), otherID, core.ClaimRequest{Agent: "pi", Host: "couch", By: "bob"}); err != nil {
		t.Fatal(err)
	}
	node.Kill()
	node.Start(t)
	if log := node.Log(); strings.Contains(log, "WARN") { // B19: a start after kill -9 warns of nothing that it repairs
		t.Errorf("the log of the node: %s", log)
	}
	for _, f := range findings {
		t.Run(f.name, func(t *testing.T) {
			if f.test != "" {
				wantTest(t, f.test)
				return
			}
			r := h.Feed(t, f.input, words(f.command)...)
			all := r.Out + r.Err
			if r.Code != f.code || !regexp.MustCompile(f.shows).MatchString(all) || f.lacks != "" && regexp.MustCompile(f.lacks).MatchString(all) {
				t.Errorf("sessctl %s: %s", f.command, r)
			}
		})
	}
}

// words splits a command. A space at its end begins an empty word.
func words(command string) []string { return strings.Split(command, " ") }

// wantTest checks that a package has a test.
func wantTest(t *testing.T, name string) {
	t.Helper()
	dir, test, _ := strings.Cut(name, " ")
	files, err := os.ReadDir("../../" + dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text := testkit.ReadFile(t, "../../"+dir+"/"+f.Name())
		if strings.Contains(string(text), "\nfunc "+test+"(") {
			return
		}
	}
	t.Errorf("%s has no test %s", dir, test)
}
