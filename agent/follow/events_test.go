package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/eventdb/eventdbtest"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/internal/testkit"
)

const opencodeID = "ses_0000000000ffeAAAAAAAAAAAAAA"

// An opencodeDB is a database of opencode, and a follower of it.
type opencodeDB struct {
	*follow.Follower
	*eventdbtest.DB
	state string
	node  *client.Client
	told  *told
}

func newOpencodeDB(t *testing.T) *opencodeDB {
	t.Helper()
	o := &opencodeDB{
		DB:    eventdbtest.New(t, filepath.Join(t.TempDir(), "opencode", "opencode.db")),
		state: t.TempDir(), node: startCluster(t).node(t), told: &told{},
	}
	o.open(t)
	return o
}

func (o *opencodeDB) open(t *testing.T) {
	t.Helper()
	f, err := follow.New(follow.Config{
		Node: o.node, Roots: []follow.Root{{Path: o.Path, Dialect: "opencode"}}, State: o.state, Notify: o.told.note, By: "tester", Host: "here",
		Rescan: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Follower = f
	t.Cleanup(func() { _ = f.Close() })
}

// restart ends the follower, and starts another one with its state.
func (o *opencodeDB) restart(t *testing.T) {
	t.Helper()
	if err := o.Follower.Close(); err != nil {
		t.Fatal(err)
	}
	o.open(t)
}

func (o *opencodeDB) flush(t *testing.T) {
	t.Helper()
	if err := o.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// texts returns what the session in the log says.
func (o *opencodeDB) texts(t *testing.T, session string) string {
	t.Helper()
	b, err := o.node.Context(t.Context(), session, client.View{})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (o *opencodeDB) wants(t *testing.T, session string, texts ...string) {
	t.Helper()
	if n, m := o.logged(t, session), o.Count(t, session); n != m {
		t.Errorf("the log has %d entries, the database %d", n, m)
	}
	got := o.texts(t, session)
	for _, text := range texts {
		if !strings.Contains(got, text) {
			t.Errorf("the log lacks %q: %s", text, got)
		}
	}
	if n := o.told.count(follow.Began); n != len(o.told.all) {
		t.Errorf("told %+v", o.told.all)
	}
}

// run runs the follower until the test ends.
func (o *opencodeDB) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = o.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// logged returns how many entries the log has of a session.
func (o *opencodeDB) logged(t *testing.T, session string) int {
	t.Helper()
	info, err := o.node.Info(t.Context(), session)
	if errors.Is(err, core.ErrNotFound) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.EntryCount
}

func TestDatabaseIsFollowed(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.Create(t, opencodeID, "/w")
	o.Say(t, opencodeID, "one")
	o.Create(t, "ses_other", "/w")
	o.Say(t, "ses_other", "elsewhere")
	o.flush(t)
	o.wants(t, opencodeID, "one")
	o.wants(t, "ses_other", "elsewhere")
	o.Say(t, opencodeID, "two")
	o.flush(t)
	o.wants(t, opencodeID, "two")
	o.restart(t)
	o.Say(t, opencodeID, "three")
	o.flush(t)
	o.wants(t, opencodeID, "one", "two", "three")
	o.wants(t, "ses_other", "elsewhere")
}

func TestDatabaseIsFollowedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.run(t)
	o.Create(t, opencodeID, "/w")
	for i := range 20 {
		o.Say(t, opencodeID, fmt.Sprint("text ", i))
	}
	defer func() {
		if t.Failed() {
			t.Errorf("the log has %d entries, the files are %+v, told %+v", o.logged(t, opencodeID), o.Files(), o.told.all)
		}
	}()
	until(t, "all events", func() bool { return o.logged(t, opencodeID) == 41 })
}

// Only the events that are new are read and appended: what the copy has of the
// others is not read again.
func TestOnlyNewEventsAreRead(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.Create(t, opencodeID, "/w")
	o.Say(t, opencodeID, "one")
	o.flush(t)
	// If the first message were read again, this would be a conflict.
	o.Exec(t, `UPDATE event SET data = replace(data, '"one"', '"changed"')`)
	o.restart(t)
	o.Say(t, opencodeID, "two")
	o.flush(t)
	o.wants(t, opencodeID, "one", "two")
}

func TestCopyThatACrashLeftIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, copy string){
		"a cut line": func(t *testing.T, copy string) {
			b := string(testkit.ReadFile(t, copy))
			write(t, copy, b[:len(b)-7])
		},
		"more lines than noted": func(t *testing.T, copy string) {
			b := string(testkit.ReadFile(t, copy))
			write(t, copy, b+b[strings.LastIndexByte(b[:len(b)-1], '\n')+1:])
		},
		"no note":  func(t *testing.T, copy string) { _ = os.Remove(copy + ".mark") },
		"no copy":  func(t *testing.T, copy string) { _ = os.Remove(copy) },
		"bad note": func(t *testing.T, copy string) { write(t, copy+".mark", "{") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOpencodeDB(t)
			o.Create(t, opencodeID, "/w")
			o.Say(t, opencodeID, "one")
			o.flush(t)
			copies, err := filepath.Glob(filepath.Join(o.state, "packed", "*.jsonl"))
			if err != nil || len(copies) != 1 {
				t.Fatal(copies, err)
			}
			if err := o.Follower.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, copies[0])
			o.open(t)
			o.Say(t, opencodeID, "two")
			o.flush(t)
			o.wants(t, opencodeID, "one", "two")
		})
	}
}

func TestStateOfADatabaseCanBeLost(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.Create(t, opencodeID, "/w")
	o.Say(t, opencodeID, "one")
	o.flush(t)
	o.state = t.TempDir()
	o.restart(t)
	o.Say(t, opencodeID, "two")
	o.flush(t)
	o.wants(t, opencodeID, "one", "two")
}

// opencode on this host got the session from another one, with its own directory in
// the rows of the session.
func TestSessionFromAnotherHostIsTheSame(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.Create(t, opencodeID, "/there")
	o.Say(t, opencodeID, "one")
	o.flush(t)
	o.Exec(t, `UPDATE event SET data = replace(replace(data, '"/there"', '"/here"'), '"path":"p"', '"path":"here"')`)
	o.state = t.TempDir()
	o.restart(t)
	o.Say(t, opencodeID, "two")
	o.flush(t)
	o.wants(t, opencodeID, "one", "two")
	if got := o.told.all; len(got) != 2 {
		t.Errorf("told %+v", got)
	}
}

func TestRemovedSessionStaysInTheLog(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.Create(t, opencodeID, "/w")
	o.Say(t, opencodeID, "one")
	o.flush(t)
	o.run(t)
	o.Delete(t, opencodeID)
	until(t, "the removal", func() bool { return o.told.count(follow.FileRemoved) == 1 })
	if got := o.texts(t, opencodeID); !strings.Contains(got, "one") {
		t.Errorf("the log has %s", got)
	}
}

func TestSessionWithoutItsBeginningIsNamed(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.Say(t, "ses_imported", "later")
	o.flush(t)
	o.flush(t)
	got := o.told.all
	if len(got) != 1 || got[0].Kind != follow.BadFile || !strings.Contains(got[0].Text, "opencode export ses_imported") {
		t.Errorf("told %+v", got)
	}
}

func TestBrokenDatabaseIsNamedOnce(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.DB.Close()
	for _, suffix := range []string{"-wal", "-shm"} {
		_ = os.Remove(o.Path + suffix) // closed databases have none
	}
	write(t, o.Path, strings.Repeat("no database\n", 1000))
	o.flush(t)
	o.flush(t)
	got := o.told.all
	if len(got) != 1 || got[0].Kind != follow.BadFile || !strings.Contains(got[0].Text, o.Path) {
		t.Errorf("told %+v", got)
	}
}

// The copy of a session is what opencode's interface would give.
func TestCopyIsImportedAsTheEventsAre(t *testing.T) {
	t.Parallel()
	o := newOpencodeDB(t)
	o.Create(t, opencodeID, "/w")
	o.Say(t, opencodeID, "one")
	o.flush(t)
	body, err := o.node.ExportPacked(t.Context(), opencodeID)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	f, err := opencode.Dialect{}.File(data)
	if err != nil {
		t.Fatal(err)
	}
	files, err := opencode.Dialect{}.Unpack(f.Header, f.Entries, "")
	if err != nil || len(files) != 2 || files[0].Path != "events.json" || bytes.Count(files[0].Data, []byte(`"aggregate_id"`)) != 3 {
		t.Errorf("the files are %+v, %v", files, err)
	}
}
