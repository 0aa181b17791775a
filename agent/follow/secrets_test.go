package follow_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/agent/eventdb/eventdbtest"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// ourSecret and ourMask are of a rule of these tests.
const (
	ourSecret = "hush-4711-hush"
	ourMask   = "[masked:hush]"
)

// masking is newSetup with mode and a rule that finds ourSecret.
func masking(t *testing.T, s *setup, mode secrets.Mode) *setup {
	t.Helper()
	rules := filepath.Join(t.TempDir(), "secrets.toml")
	write(t, rules, "[[rules]]\nid = \"hush\"\nregex = '''hush-[0-9]+-hush'''\nkeywords = [\"hush\"]\n")
	r, err := secrets.Read(rules)
	if err != nil {
		t.Fatal(err)
	}
	s.secrets = secrets.Policy{Mode: mode, Rules: r}
	s.reopen(t)
	return s
}

func (s *setup) reopen(t *testing.T) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.open(t)
}

// hidden returns data as the log has it.
func hidden(data string) string { return strings.ReplaceAll(data, ourSecret, ourMask) }

func TestSecretsStayOnTheHost(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	s := masking(t, newSetup(t, c.node(t), t.TempDir()), secrets.Masked)
	data := text(header, said("a", "", "it is "+ourSecret))
	grow := func(id, parent, what string) {
		data += said(id, parent, what) + "\n"
		write(t, s.path, data)
		s.flush(t)
		s.inLog(t, hidden(data))
	}
	write(t, s.path, data)
	s.flush(t)
	s.inLog(t, hidden(data))
	grow("b", "a", "again "+ourSecret)
	s.reopen(t) // continues from its state
	grow("c", "b", ourSecret+" after a restart")
	s.state = t.TempDir()
	s.reopen(t) // compares the file with the log
	grow("d", "c", ourSecret+" after the state was lost")

	// A line changes, and one that is no entry has the secret.
	data = strings.Replace(data, "again "+ourSecret, "changed "+ourSecret, 1)
	write(t, s.path, data+ourSecret+" is no entry\n")
	s.flush(t)
	s.inLog(t, hidden(data))
	write(t, s.path, data)
	s.flush(t)

	// Another host continues the session, and masks nothing.
	b := newSetup(t, s.node, t.TempDir())
	write(t, b.path, hidden(data)+said("e", "d", "elsewhere")+"\n")
	b.flush(t)
	data += said("e", "d", "elsewhere") + "\n"
	s.inLog(t, hidden(data))
	write(t, s.path, data)
	s.flush(t)
	grow("f", "e", "back with "+ourSecret)

	// Without masking, the lines that were masked stay so.
	s.secrets.Mode = secrets.Off
	s.state = t.TempDir()
	s.reopen(t)
	s.flush(t)
	s.inLog(t, hidden(data))
	for _, n := range s.told.all {
		if n.Kind == follow.Conflict || n.Kind == follow.Diverged || strings.Contains(n.Text, ourSecret) {
			t.Errorf("%s: %s", n.Kind, n.Text)
		}
	}
	err := s.node.Follow(t.Context(), sessionID, core.Cursor{}, false, func(ev api.Event) error {
		if bytes.Contains(ev.Body, []byte(ourSecret)) {
			t.Errorf("a record has the secret: %s", ev.Body)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(s.path); err != nil || string(b) != data {
		t.Errorf("the file of the agent changed: %v", err)
	}
}

func TestSecretsAreReportedWithoutThem(t *testing.T) {
	t.Parallel()
	s := masking(t, newSetup(t, startCluster(t).node(t), t.TempDir()), secrets.Report)
	data := text(header, said("a", "", "it is "+ourSecret))
	write(t, s.path, data)
	s.flush(t)
	data += said("b", "a", "and "+ourSecret) + "\n"
	write(t, s.path, data)
	s.flush(t)
	s.inLog(t, data)
	s.reopen(t)
	s.flush(t)
	var told []string
	for _, n := range s.told.all {
		if n.Kind == follow.Secret {
			told = append(told, n.Text)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "entry a of session") || !strings.Contains(told[1], "entry b of session") || strings.Contains(told[0]+told[1], ourSecret) {
		t.Errorf("%q", told)
	}
}

// Claude Code keeps a session in several files.
func TestSecretsOfPackedSessionsStayOnTheHost(t *testing.T) {
	t.Parallel()
	s := masking(t, newSetup(t, startCluster(t).node(t), t.TempDir()), secrets.Masked)
	home := filepath.Join(s.dir, "projects")
	s.path = filepath.Join(home, "-w", claudeID+".jsonl")
	output := filepath.Join(home, "-w", claudeID, "tool-results", "out.txt")
	for _, p := range []string{s.path, output} {
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root := follow.Root{Path: home, Dialect: "claude"}
	write(t, s.path, strings.Replace(claudeLine(1, false), "line 1", ourSecret, 1))
	write(t, output, "line\n"+ourSecret+"\nline\n")
	s.rootAt(t, root)
	s.flush(t)
	add(t, s.path, strings.Replace(claudePrompt, `"p"`, `"`+ourSecret+`"`, 1))
	s.rootAt(t, root)
	s.flush(t)
	got := string(bytes.Join(entries(t, s.node, claudeID), []byte("\n")))
	if strings.Contains(got, ourSecret) || strings.Count(got, ourMask) != 3 {
		t.Errorf("want three masks:\n%s", got)
	}
	s.keepsNoSecret(t)
}

// keepsNoSecret fails if the follower's own files have the secret.
func (s *setup) keepsNoSecret(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(s.state, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(ourSecret)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Codex compresses old rollouts.
func TestSecretsOfCompressedRolloutsStayOnTheHost(t *testing.T) {
	t.Parallel()
	s := masking(t, newSetup(t, startCluster(t).node(t), t.TempDir()), secrets.Masked)
	const id = "01990000-0000-7000-8000-000000000001"
	home := filepath.Join(s.dir, "codex", "sessions")
	day := filepath.Join(home, "2026", "01", "02")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	said := func(text string) string {
		return `{"timestamp":"2026-01-02T03:04:06.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + text + `"}]}}` + "\n"
	}
	rollout := `{"timestamp":"2026-01-02T03:04:05.000Z","type":"session_meta","payload":{"id":"` + id + `","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w","originator":"codex_exec","cli_version":"0.169.0","source":"exec"}}` + "\n" +
		said("it is "+ourSecret) + said("again "+ourSecret)
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(day, "rollout-2026-01-02T03-04-05-"+id+".jsonl.zst"), string(e.EncodeAll([]byte(rollout), nil)))
	s.rootAt(t, follow.Root{Path: home, Dialect: "codex"})
	s.flush(t)
	if got := string(bytes.Join(entries(t, s.node, id), []byte("\n"))); strings.Contains(got, ourSecret) || strings.Count(got, ourMask) != 2 {
		t.Errorf("want two masks:\n%s", got)
	}
	s.keepsNoSecret(t)
}

// opencode keeps sessions in a database.
func TestSecretsOfADatabaseStayOnTheHost(t *testing.T) {
	t.Parallel()
	s := masking(t, newSetup(t, startCluster(t).node(t), t.TempDir()), secrets.Masked)
	db := eventdbtest.New(t, filepath.Join(s.dir, "opencode", "opencode.db"))
	root := follow.Root{Path: db.Path, Dialect: "opencode"}
	want := 0
	say := func() {
		t.Helper()
		db.Say(t, opencodeID, "it is "+ourSecret)
		s.flush(t)
		want++
		if got := string(bytes.Join(entries(t, s.node, opencodeID), []byte("\n"))); strings.Contains(got, ourSecret) || strings.Count(got, ourMask) != want {
			t.Errorf("want %d masks:\n%s", want, got)
		}
	}
	s.rootAt(t, root)
	db.Create(t, opencodeID, "/w")
	say()
	say()
	s.rootAt(t, root) // continues from its state
	say()
	s.state = t.TempDir()
	s.rootAt(t, root) // compares the database with the log
	say()
	for _, n := range s.told.all {
		if n.Kind == follow.Conflict || n.Kind == follow.Diverged || strings.Contains(n.Text, ourSecret) {
			t.Errorf("%s: %s", n.Kind, n.Text)
		}
	}
}
