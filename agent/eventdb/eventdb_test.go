package eventdb_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/agent/eventdb"
	"github.com/sesslog/sesslog/agent/eventdb/eventdbtest"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

func TestEventsAreThoseOfTheInterface(t *testing.T) {
	t.Parallel()
	d := eventdbtest.New(t, filepath.Join(t.TempDir(), "opencode.db"))
	d.Create(t, "ses_1", "/w")
	d.Say(t, "ses_1", "a <b> & c \u2028")
	d.Create(t, "ses_2", "/w")
	r := eventdb.At(d.Path)
	defer r.Close()
	last, err := r.Sessions(t.Context())
	if err != nil || len(last) != 2 || last["ses_1"] != 2 || last["ses_2"] != 0 {
		t.Fatalf("the sessions are %v, %v", last, err)
	}
	events, err := r.Events(t.Context(), "ses_1", 1, eventdb.Limit)
	if err != nil || len(events) != 2 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	const want = `{"id":"evt_ses_1_0002","aggregate_id":"ses_1","seq":2,"type":"message.part.updated.1","data":{"sessionID":"ses_1","part":{"id":"prt_0001","sessionID":"ses_1","messageID":"msg_0001","type":"text","text":"a <b> & c ` + "\\u2028" + `"},"time":1}}`
	if got := string(events[1].JSON); got != want {
		t.Errorf("the event is\n%s, want\n%s", got, want)
	}
	if events, err = r.Events(t.Context(), "ses_1", 3, eventdb.Limit); err != nil || len(events) != 0 {
		t.Errorf("after the last there are %d events, %v", len(events), err)
	}
}

func TestReplacedDatabaseIsOpenedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := eventdbtest.New(t, filepath.Join(dir, "opencode.db"))
	d.Create(t, "ses_old", "/w")
	r := eventdb.At(d.Path)
	defer r.Close()
	if last, err := r.Sessions(t.Context()); err != nil || len(last) != 1 {
		t.Fatal(last, err)
	}
	d.Close()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(d.Path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Skipf("an open file cannot be removed here: %v", err)
		}
	}
	if _, err := r.Sessions(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	eventdbtest.New(t, d.Path).Create(t, "ses_new", "/w")
	if last, err := r.Sessions(t.Context()); err != nil || len(last) != 1 || last["ses_new"] != 0 {
		t.Errorf("the sessions are %v, %v", last, err)
	}
}

func TestDirectoriesOfSessions(t *testing.T) {
	t.Parallel()
	d := eventdbtest.New(t, filepath.Join(t.TempDir(), "opencode.db"))
	r := eventdb.At(d.Path)
	defer r.Close()
	if dirs, err := r.Directories(t.Context()); err != nil || len(dirs) != 0 {
		t.Errorf("without a table: %v, %v", dirs, err)
	}
	d.Exec(t, `CREATE TABLE session (id text PRIMARY KEY, directory)`)
	d.Exec(t, `INSERT INTO session VALUES ('ses_1', '/w'), ('ses_../x', '/w'), ('ses_2', 2), ('other', '/w')`)
	if dirs, err := r.Directories(t.Context()); err != nil || len(dirs) != 1 || dirs["ses_1"] != "/w" {
		t.Errorf("the directories are %v, %v", dirs, err)
	}
	d.Exec(t, `DROP TABLE session`)
	d.Exec(t, `CREATE VIEW session AS WITH RECURSIVE x(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM x) SELECT 'ses_' || n AS id, '/w' AS directory FROM x`)
	if dirs, err := r.Directories(t.Context()); err != nil || len(dirs) != 0 {
		t.Errorf("of a view: %d, %v", len(dirs), err)
	}
}

func TestHostileDatabases(t *testing.T) {
	t.Parallel()
	file := func(t *testing.T, data string) string {
		path := filepath.Join(t.TempDir(), "opencode.db")
		testkit.WriteFile(t, path, []byte(data))
		return path
	}
	database := func(t *testing.T, statements ...string) string {
		d := eventdbtest.New(t, filepath.Join(t.TempDir(), "opencode.db"))
		for _, s := range statements {
			d.Exec(t, s)
		}
		return d.Path
	}
	for name, c := range map[string]struct {
		path string
		want error // nil: any error that is not one of the others
	}{
		"nothing":         {filepath.Join(t.TempDir(), "opencode.db"), fs.ErrNotExist},
		"an empty file":   {file(t, ""), fs.ErrNotExist},
		"a folder":        {t.TempDir(), core.ErrInvalid},
		"text":            {file(t, strings.Repeat("no database\n", 1000)), nil},
		"a cut header":    {file(t, "SQLite format 3\x00"), nil},
		"without tables":  {database(t, `DROP TABLE event`, `DROP TABLE event_sequence`), fs.ErrNotExist},
		"without a table": {database(t, `DROP TABLE event`), core.ErrInvalid},
		"an endless view": {database(t, `DROP TABLE event_sequence`, `CREATE VIEW event_sequence AS
			WITH RECURSIVE x(seq) AS (SELECT 0 UNION ALL SELECT seq + 1 FROM x) SELECT 'ses_' || seq AS aggregate_id, seq FROM x`), core.ErrInvalid},
		"without a column": {database(t, `DROP TABLE event_sequence`, `CREATE TABLE event_sequence (a)`), nil},
	} {
		r := eventdb.At(c.path)
		_, err := r.Sessions(t.Context())
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHostileRows(t *testing.T) {
	t.Parallel()
	d := eventdbtest.New(t, filepath.Join(t.TempDir(), "opencode.db"))
	d.Create(t, "ses_1", "/w")
	for _, id := range []string{"../../etc", "ses_../x", "ses_a/b", "ses_" + strings.Repeat("x", 1000), "ses_\x00", "no"} {
		d.Exec(t, `INSERT INTO event_sequence VALUES (?, 1, NULL)`, id)
	}
	d.Exec(t, `INSERT INTO event_sequence VALUES (x'7365735f31', 1, NULL), ('ses_text', 'x', NULL), ('ses_minus', -1, NULL)`)
	r := eventdb.At(d.Path)
	defer r.Close()
	if last, err := r.Sessions(t.Context()); err != nil || len(last) != 1 {
		t.Errorf("the sessions are %v, %v", last, err)
	}
	d.Add(t, "ses_1", "message.updated.1", "no JSON")
	if _, err := r.Events(t.Context(), "ses_1", 0, eventdb.Limit); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("an event that is not JSON: %v", err)
	}
	d.Create(t, "ses_2", "/w")
	d.Add(t, "ses_2", "x.1", "{\"a\":\n1}")
	if events, err := r.Events(t.Context(), "ses_2", 1, eventdb.Limit); err != nil || strings.Contains(string(events[0].JSON), "\n") {
		t.Errorf("an event with a newline: %v, %v", events, err)
	}
}
