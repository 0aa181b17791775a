//go:build linux

package operations_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

var update = flag.Bool("update", false, "write the screens of testdata")

// The sessions of TestScreens. Their ids, and the users who store them.
const (
	portID  = "7f3a0c52-1111-4222-8333-944455556666" // of ann, with pi
	loginID = "c41e9d07-1111-4222-8333-944455556666" // of ann, with Claude Code
	queueID = "2b8f6e10-1111-4222-8333-944455556666" // of bob, with pi
)

// screens are the commands whose output is kept: the main verbs, and those that
// answer what a user asks next.
var screens = [][]string{
	{"import", "port.jsonl"},
	{"ls"},
	{"ls", "--since", "2d", "--holder", "bob"},
	{"search", "port"},
	{"history", "port"},
	{"tree", "7f3a"},
	{"attach", "7f3a"},
	{"model-input", "7f3a"},
	{"info", "7f3a"},
	{"usage", "7f3a"},
	{"heads", "7f3a"},
	{"export", "2b8f", "--out", "back.jsonl"},
	{"fork", "7f3a", "--dry-run"},
	{"status"},
	{"top", "--times", "1", "--every", "100ms"},
	{"watch", "--once", "port.jsonl"},
	{"run", "--", "pi", "-p", "Deploy it."},
	{"resume", "7f3a", "--no-start", "--dir", "elsewhere"},
}

// TestScreens compares what the main verbs print on terminals of two sizes with
// testdata/screens-*. A hit that is underlined is between « and ». The screens must
// answer: which session did Ann work on yesterday, what did it cost, who holds it
// now, where was "port" said, how does one continue it?
func TestScreens(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a node")
	}
	for _, size := range []pty.Winsize{{Cols: 100, Rows: 40}, {Cols: 80, Rows: 24}} {
		name := fmt.Sprintf("screens-%dx%d.txt", size.Cols, size.Rows)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := screensAt(t, size)
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := testkit.ReadFile(t, path)
			if !bytes.Equal(got, want) {
				t.Errorf("other screens than %s; compare after: go test ./test/operations -run TestScreens -update\n%s", path, got)
			}
		})
	}
}

// screensAt runs the commands of screens on a new log.
func screensAt(t *testing.T, size pty.Winsize) []byte {
	node := harness.StartNode(t, "--node", "desk")
	// A name of fixed length, so that lines break at the same places.
	dir := fmt.Sprintf("%s/sesslog-screens-%010d-%03d", os.TempDir(), os.Getpid(), size.Cols)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ann := &harness.Host{Dir: dir, URL: node.URL, Env: []string{"USER=ann", "TERM=xterm", "PAGER=cat", "SESS_PAGER=cat", "PATH=" + dir + ":" + os.Getenv("PATH")}}
	if err := os.WriteFile(dir+"/pi", []byte(deployingPi), 0o700); err != nil {
		t.Fatal(err)
	}
	bob := &harness.Host{Dir: t.TempDir(), URL: node.URL, Env: []string{"USER=bob"}}
	now := time.Now().UTC()
	write(t, dir+"/port.jsonl", piFile(portID, "/home/ann/site", "Fix the port", now.Add(-30*time.Hour), 0.21,
		"Which port does the site use?", "config.yaml says port 8080, and the proxy expects 8000.",
		"Use 8080 for the proxy, too.", "Done: proxy.conf now names 8080, and "+lastWords))
	write(t, dir+"/"+loginID+".jsonl", claudeFile(now.Add(-150*time.Minute)))
	write(t, bob.Dir+"/queue.jsonl", piFile(queueID, "/home/bob/queue", "", now.Add(-330*time.Minute), 0.035,
		"Why do jobs run twice?", "The worker acknowledges after the timeout, so the broker sends the job again."))
	bob.Do(t, "import", "queue.jsonl")
	ann.Do(t, "import", loginID+".jsonl")
	if _, err := node.Client().Claim(harness.Timeout(t), queueID, core.ClaimRequest{Agent: "pi", Host: "couch", By: "bob"}); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the listing shows who holds the session", func() error {
		if out := ann.Do(t, "ls"); !strings.Contains(out, "bob@couch") {
			return errors.New(out)
		}
		return nil
	})
	var out bytes.Buffer
	for i, args := range screens {
		screen := onTerminal(t, ann, size, args)
		fmt.Fprintf(&out, "$ sessctl %s\n%s\n", strings.Join(args, " "), steady(strings.ReplaceAll(screen, node.Data, "/var/lib/sesslog"), dir, args[0]))
		if i == 0 { // the others read what was imported
			harness.Await(t, "the session is in the listing", func() error {
				if out := ann.Do(t, "ls"); !strings.Contains(out, "Fix the port") {
					return errors.New(out)
				}
				return nil
			})
		}
	}
	return out.Bytes()
}

// onTerminal returns what sessctl prints on a terminal, at most a screen of it.
func onTerminal(t *testing.T, h *harness.Host, size pty.Winsize, args []string) string {
	t.Helper()
	cmd := h.Command(harness.Timeout(t), t, args...)
	cmd.SysProcAttr = nil // a separate session
	tty, err := pty.StartWithSize(cmd, &size)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	var text string
	if args[0] == "attach" { // it waits for more
		text = readUntil(t, tty, lastWords)
		_ = cmd.Process.Signal(os.Interrupt)
	}
	rest, _ := io.ReadAll(tty) // the terminal ends with an error
	if err := cmd.Wait(); err != nil {
		t.Fatalf("sessctl %s: %v\n%s", strings.Join(args, " "), err, rest)
	}
	if text == "" {
		text = string(rest)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if i := strings.LastIndex(text, "\x1b[H\x1b[2J"); i >= 0 { // a cleared screen
		text = text[i:]
	}
	text = underlined.ReplaceAllString(text, "«$1»")
	text = controls.ReplaceAllString(text, "")
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 { // a bar that was replaced
			line = line[i+1:]
		}
		lines = append(lines, line)
	}
	if most := int(size.Rows) - 1; len(lines) > most {
		lines = append(lines[:most-1], "(and more, by the pager)")
	}
	return strings.Join(lines, "\n") + "\n"
}

// deployingPi stands for pi: it writes a session of one turn.
const deployingPi = `#!/bin/sh
sessions=$HOME/.pi/agent/sessions/--site--
id=90d10000-1111-4222-8333-944455556666
mkdir -p $sessions
cat > $sessions/2026-01-05T09-00-00-000Z_$id.jsonl <<END
{"type":"session","version":3,"id":"$id","timestamp":"2026-01-05T09:00:00.000Z","cwd":"$PWD"}
{"type":"message","id":"a1b2c3d1","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"Deploy it."}}
{"type":"message","id":"a1b2c3d2","parentId":"a1b2c3d1","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Deployed."}]}}
END
echo Deployed.
`

// lastWords end the session of TestScreens.
const lastWords = "the health check passes."

// readUntil reads from a terminal up to the words.
func readUntil(t *testing.T, r io.Reader, words string) string {
	t.Helper()
	var shown []byte
	for !bytes.Contains(shown, []byte(words)) {
		buf := make([]byte, 4<<10)
		n, err := r.Read(buf)
		if shown = append(shown, buf[:n]...); err != nil {
			t.Fatalf("the terminal ended: %v\n%s", err, shown)
		}
	}
	return string(shown[:bytes.Index(shown, []byte(words))]) + words
}

var (
	underlined = regexp.MustCompile("\x1b\\[4m([^\x1b]*)\x1b\\[0m")
	controls   = regexp.MustCompile("\x1b\\[[0-9;?]*[a-zA-Z]")
)

// varying are what differs between runs, and what stands for it: of the same width,
// except in verbs whose columns are collapsed.
var varying = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "09:00:00"},
	{regexp.MustCompile(`\b[A-Z][a-z][a-z] \d\d \d\d:\d\d\b`), "Jan 05 09:00"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d`), "2026-01-05"},
	{regexp.MustCompile(`\b(\d+)-[0-9a-f]{16}\b`), "$1-0123456789abcdef"},
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`), "01ABCDEFGHJKMNPQRSTVWXYZ00"},
	{regexp.MustCompile(`seen \d+s ago`), "seen 1s ago"},
	{regexp.MustCompile(`\bup \S+`), "up 5s"},
	{regexp.MustCompile(`\bversion \S+,`), "version 1,"},
	{regexp.MustCompile(`T\d\d-\d\d-\d\d-\d{3}Z`), "T09-00-00-000Z"},
	{regexp.MustCompile(`\d+\.\d (appends|lines|refused|requests)/s`), "N $1/s"},
	{regexp.MustCompile(`\d+(\.\d+)? (bytes|[KMGT]iB)`), "N KiB"},
	{regexp.MustCompile(`\d+(\.\d+)?(/s| behind| records behind| of \d+ reads?)`), "N$2"},
	{regexp.MustCompile(`\b0?[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`), "01a00000-0000-7000-8000-000000000000"},
}

// steady replaces what differs between runs.
func steady(screen, dir, verb string) string {
	screen = strings.ReplaceAll(screen, dir, "/home/ann")
	for _, v := range varying {
		screen = v.find.ReplaceAllString(screen, v.with)
	}
	if verb == "status" || verb == "top" {
		screen = regexp.MustCompile(`  +`).ReplaceAllString(screen, "  ")
		screen = regexp.MustCompile(`(?m)^(memory|disk|cache)  .*\n`).ReplaceAllString(screen, "") // what was read so far
		screen = regexp.MustCompile(`(SESS_\S+  \S+  \d+)  .*`).ReplaceAllString(screen, "$1  ...")
	}
	return screen
}

func write(t *testing.T, name, text string) {
	t.Helper()
	testkit.WriteFile(t, name, []byte(text))
}

// piFile returns a session of pi: prompts and answers in turn, each answer after a
// tool call.
func piFile(id, cwd, name string, at time.Time, cost float64, texts ...string) string {
	var b strings.Builder
	stamp := func() string { at = at.Add(10 * time.Second); return at.Format("2006-01-02T15:04:05.000Z") }
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%q}`+"\n", id, stamp(), cwd)
	parent, n := "null", 0
	entry := func(message string) {
		n++
		own := fmt.Sprintf("%08x", 0xa1b2c3d0+n)
		fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":%s,"timestamp":%q,"message":%s}`+"\n", own, parent, stamp(), message)
		parent = fmt.Sprintf("%q", own)
	}
	usage := fmt.Sprintf(`"provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":1200,"output":340,"cacheRead":0,"cacheWrite":0,"totalTokens":1540,"cost":{"total":%g}}`, cost)
	for i := 0; i+1 < len(texts); i += 2 {
		entry(fmt.Sprintf(`{"role":"user","content":%q}`, texts[i]))
		entry(fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":"call%d","name":"bash","arguments":{"command":"grep -rn port ."}}],"stopReason":"toolUse",%s}`, i, usage))
		entry(fmt.Sprintf(`{"role":"toolResult","toolCallId":"call%d","toolName":"bash","content":[{"type":"text","text":"config.yaml:3: port: 8080"}],"isError":false}`, i))
		entry(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}],"stopReason":"stop",%s}`, texts[i+1], usage))
	}
	if name != "" {
		fmt.Fprintf(&b, `{"type":"session_info","id":"a1b2c3df","parentId":%s,"timestamp":%q,"name":%q}`+"\n", parent, stamp(), name)
	}
	return b.String()
}

// claudeFile returns a session of Claude Code.
func claudeFile(at time.Time) string {
	var b strings.Builder
	parent := "null"
	for i, message := range []string{
		`{"role":"user","content":"The login page forgets the redirect."}`,
		`{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"The redirect is lost in the session cookie; I keep it in the URL now."}],"stop_reason":"end_turn","usage":{"input_tokens":900,"output_tokens":120}}`,
	} {
		at = at.Add(time.Minute)
		own := fmt.Sprintf("%q", fmt.Sprintf("0000000%d-1111-4222-8333-944455556666", i+1))
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/ann/login","sessionId":%q,"version":"2.1.197","type":%q,"message":%s,"uuid":%s,"timestamp":%q}`+"\n",
			parent, loginID, []string{"user", "assistant"}[i], message, own, at.Format("2006-01-02T15:04:05.000Z"))
		parent = own
	}
	return b.String()
}
