package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/eventdb/eventdbtest"
	"github.com/sesslog/sesslog/internal/testkit"
)

const claudeLine = `{"parentUuid":PARENT,"isSidechain":false,"type":"user","message":{"role":"user","content":"UUID"},"uuid":"UUID","timestamp":"2026-01-02T03:MM:00.000Z","cwd":"/lab","sessionId":"` + bundleID + `"}` + "\n"

func claudeTalk(minute, parent, uuid string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return strings.NewReplacer("PARENT", parent, "UUID", uuid, "MM", minute).Replace(claudeLine)
}

// writeOld writes files that changed a minute ago.
func writeOld(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.Must(t, os.WriteFile(path, []byte(text), 0o600))
		old := time.Now().Add(-time.Minute)
		testkit.Must(t, os.Chtimes(path, old, old))
	}
}

func TestRescueRepairsByAppending(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	name := ".claude/projects/-lab/" + bundleID + ".jsonl"
	broken := claudeTalk("01", "null", "a") + claudeTalk("02", "a", "b") + claudeTalk("09", "gone", "c")
	files := map[string]string{
		name: broken,
		".claude/projects/-lab/" + bundleID + "/subagents/agent-a.jsonl": strings.ReplaceAll(claudeTalk("01", "null", "s"), "false", "true"),
		".pi/agent/sessions/--lab--/x.jsonl":                             talk("a"),
		".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-019c0000-0000-7000-8000-00000000000a.jsonl": `{"timestamp":"t","ordinal":0,"type":"session_meta","payload":{"id":"019c0000-0000-7000-8000-00000000000a","cwd":"/lab","timestamp":"2026-01-02T03:04:05.000Z","history_mode":"paginated"}}` + "\n" +
			`{"timestamp":"t","ordinal":1,"type":"response_item","payload":{"type":"message","role":"user","content":[]}}` + "\n",
	}
	writeOld(t, f.home, files)
	r := f.run("rescue")
	wantResult(t, r, 0, "claude: 1 of 3 messages sent, 2 lost; after a repair 3\n  - line 3: its parent gone is not in the file", "sessctl rescue --repair")
	if !strings.Contains(r.out, "3 sessions, 2 without faults") {
		t.Errorf("%s", r.out)
	}
	wantColumns(t, r.out+f.run("rescue", "--help").out, 100)
	wantText(t, filepath.Join(f.home, name), broken)

	var list []struct {
		Agent       string
		Lost, After int
		Repaired    string
		Faults      []struct{ Kind, Repair string }
	}
	r = f.run("rescue", "--repair", "-o", "json", bundleID)
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != 1 || list[0].Lost != 2 || list[0].After != 3 ||
		list[0].Repaired != filepath.Join(f.home, name) || list[0].Faults[0].Kind != "missing-parent" || list[0].Faults[0].Repair != "append" {
		t.Errorf("%v: %s", err, r.out)
	}
	b, err := os.ReadFile(filepath.Join(f.home, name))
	if err != nil || !strings.HasPrefix(string(b), broken) {
		t.Errorf("the file was rewritten: %v\n%s", err, b)
	}
	wantResult(t, f.run("rescue", "--all"), 0, "claude: 3 of 3 messages sent", "")
}

func TestRescueLeavesFilesInUse(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	name := ".claude/projects/-lab/" + bundleID + ".jsonl"
	broken := claudeTalk("01", "null", "a") + `{"torn`
	writeOld(t, f.home, map[string]string{name: broken})
	now := time.Now().Add(time.Minute)
	testkit.Must(t, os.Chtimes(filepath.Join(f.home, name), now, now))
	wantResult(t, f.run("rescue", "--repair"), 5, "", "is being written; end its agent first")
	wantText(t, filepath.Join(f.home, name), broken)
}

func TestRescueWritesCopiesBelowDir(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	file := "-lab/" + bundleID + ".jsonl"
	broken := claudeTalk("01", "null", "a") + claudeTalk("02", "a", "b") + strings.Replace(claudeTalk("03", "b", "a"), `"content":"a"`, `"content":"other"`, 1)
	writeOld(t, f.home, map[string]string{"in/" + file: broken})
	to := t.TempDir()
	wantResult(t, f.run("rescue", "--dir", filepath.Join(f.home, "in"), "--repair", "--to", to), 0, "repaired: "+filepath.Join(to, file), "")
	wantText(t, filepath.Join(f.home, "in", file), broken)
	wantResult(t, f.run("rescue", "--dir", to, "--all"), 0, "claude: 3 of 3 messages sent\n1 session, 1 without faults", "")
}

// Of agents without an own examination, too.
func TestRescueNamesWhatItCannotRepair(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	entry := func(id, parent string) string {
		parent = strings.ReplaceAll(`"`+parent+`"`, `""`, "null")
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"` + id + `"}}`
	}
	file := func(lines ...string) string { return talk() + strings.Join(lines, "\n") + "\n" }
	writeOld(t, f.home, map[string]string{
		"in/whole.jsonl": file(entry("a", ""), entry("b", "a"), entry("c", "a")),
		"in/glued.jsonl": file(entry("a", ""), entry("b", "a")+entry("c", "b"), entry("d", "c")),
		"in/twice.jsonl": file(entry("a", ""), entry("b", "a"), strings.Replace(entry("b", "a"), `"content":"b"`, `"content":"other"`, 1)),
		"in/ring.jsonl":  file(entry("a", "b"), entry("b", "a"), entry("c", "b")),
	})
	to := t.TempDir()
	r := f.run("rescue", "--dir", filepath.Join(f.home, "in"), "--to", to)
	wantResult(t, r, 0, "4 sessions, 1 without faults", "2 files cannot be repaired by rescue")
	for _, want := range []string{"line 3: it holds 2 lines", "line 4: its id \"b\" is also that of line 3", "line 2: it is its own ancestor"} {
		if strings.Count(r.out, want) != 1 {
			t.Errorf("not once: %s\n%s", want, r.out)
		}
	}
	wantText(t, filepath.Join(to, "glued.jsonl"), file(entry("a", ""), entry("b", "a"), entry("c", "b"), entry("d", "c")))
	wantResult(t, f.run("rescue", "--dir", to, "--all"), 0, "pi: 4 of 4 messages sent\n1 session, 1 without faults", "")
}

// The file could be the original.
func TestRescueDoesNotReplaceFiles(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	broken := strings.Replace(talk("a"), `"cwd"`, `"titleSource":"user","cwd"`, 1) + "null\n{\"cut"
	writeOld(t, f.home, map[string]string{"in/x.jsonl": broken})
	dir := filepath.Join(f.home, "in")
	wantResult(t, f.run("rescue", "--dir", dir, "--to", dir), 5, "x.jsonl already exists", "x.jsonl already exists")
	wantText(t, filepath.Join(dir, "x.jsonl"), broken)
	wantResult(t, f.run("rescue", "--dir", dir, "--to", t.TempDir()), 0, "(without 2 lines that the agent cannot read)", "")
}

// The agent does not list a file whose header is damaged.
func TestRescueListsFilesWithoutHeader(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	writeOld(t, f.home, map[string]string{
		".pi/agent/sessions/--lab--/x.jsonl": talk("a"),
		".pi/agent/sessions/--lab--/y.jsonl": `{"type":"sess` + talk("a"),
		".pi/agent/sessions/--lab--/z.jsonl": "",
	})
	wantResult(t, f.run("rescue"), 0, "~/.pi/agent/sessions/--lab--/y.jsonl", "")
	wantResult(t, f.run("rescue"), 0, "2 sessions, 1 without faults", "")
}

// Sessions that Claude Code deletes are named in time.
func TestRescueNamesSessionsThatExpire(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	name := ".claude/projects/-lab/" + bundleID + ".jsonl"
	writeOld(t, f.home, map[string]string{name: claudeTalk("01", "null", "a")})
	old := time.Now().Add(-26 * 24 * time.Hour)
	testkit.Must(t, os.Chtimes(filepath.Join(f.home, name), old, old))
	wantResult(t, f.run("rescue"), 0, "Claude Code deletes it in 4 days; keep it with: sessctl import", "")
}

// A database of opencode is only read.
func TestRescueExaminesDatabaseOfOpencode(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	work := t.TempDir()
	path := filepath.Join(f.home, ".local", "share", "opencode", "opencode.db")
	db := eventdbtest.New(t, path)
	db.Exec(t, `CREATE TABLE session (id text PRIMARY KEY, directory text NOT NULL)`)
	for _, id := range []string{"ses_whole", "ses_gone", "ses_gap", "ses_half"} {
		dir := work
		if id == "ses_gone" {
			dir = filepath.Join(work, "gone")
		}
		db.Exec(t, `INSERT INTO session VALUES (?, ?)`, id, dir)
		db.Create(t, id, dir)
		db.Say(t, id, "first")
		db.Say(t, id, "second")
	}
	db.Exec(t, `INSERT INTO session VALUES ('ses_imported', ?)`, work)
	db.Exec(t, `DELETE FROM event WHERE aggregate_id = 'ses_gap' AND seq = 1`)
	db.Add(t, "ses_half", "message.updated.1", `{"sessionID":"ses_half","info":{"id":"msg_9","sessionID":"ses_half","role":"assistant","time":{"created":9}}}`)
	db.Create(t, "ses_failed", work)
	db.Say(t, "ses_failed", "first")
	db.Add(t, "ses_failed", "message.updated.1", `{"sessionID":"ses_failed","info":{"id":"msg_9","sessionID":"ses_failed","role":"assistant","time":{"created":9,"completed":10},"error":{"name":"APIError"}}}`)
	db.Add(t, "ses_failed", "message.part.updated.1", `{"sessionID":"ses_failed","part":{"id":"prt_9","sessionID":"ses_failed","messageID":"msg_9","type":"text","text":"half"}}`)
	db.Close()
	before, err := os.ReadFile(path)
	testkit.Must(t, err)

	to := t.TempDir()
	r := f.run("rescue", "--repair", "--to", to)
	for _, want := range []string{
		"opencode.db/ses_gap\n  opencode: 1 of 2 messages sent, 1 lost", "- event 1 is missing", "- message msg_0001 is missing",
		"opencode.db/ses_gone\n  opencode: 2 of 2 messages sent", "gone does not exist; opencode import moves",
		"- answer msg_9 has no end", "opencode.db/ses_imported", "- it has no events", "6 sessions, 1 without faults",
		"opencode.db/ses_failed\n  opencode: 1 of 2 messages sent, 1 lost; after a repair 2",
		"repaired: " + filepath.Join(to, "ses_gone", "export.json"),
	} {
		if !strings.Contains(strings.Join(strings.Fields(r.out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("it does not say %q: %s", want, r.out)
		}
	}
	wantResult(t, f.run("rescue", "--dir", to, "--all"), 0, "opencode: 2 of 2 messages sent", "")
	wantResult(t, f.run("rescue", "--dir", filepath.Dir(path), "ses_gone"), 0, "1 session, 0 without faults", "rescue --to DIR")
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database changed: %v", err)
	}
}

func wantColumns(t *testing.T, text string, most int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len(line) > most+1 {
			t.Errorf("a line has more than %d columns: %s", most, line)
		}
	}
}

func wantText(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s changed: %v\n%s", path, err, b)
	}
}
