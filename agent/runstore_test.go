package agent

import (
	"os"
	"testing"

	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/core"
)

func TestRunNoteKeepsTheAgentOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	f := &follower{host: testHost(nil), pid: 7, startID: "boot/70"}
	file := sessionFile{path: "/a/b.jsonl", session: "session-1", dialect: "pi"}
	before := runNote{Agent: 5, Start: "boot/50", Writers: []string{"w"}}
	if n := f.newNote(file, before, false); n.Agent != 7 || n.Start != "boot/70" {
		t.Errorf("own file: %+v", n)
	}
	if n := f.newNote(file, before, true); n.Agent != 5 || n.Start != "boot/50" {
		t.Errorf("file of an earlier run: %+v", n)
	}
	r := runStore{t.TempDir()}
	if err := r.save(f.newNote(file, before, false)); err != nil {
		t.Fatal(err)
	}
	if n, ok := r.load(file.path); !ok || n.Start != "boot/70" {
		t.Errorf("stored: %+v, %t", n, ok)
	}
}

func TestAgentOfSeveralSessionsIsBusyElsewhereForNoneOfThem(t *testing.T) {
	t.Parallel()
	r := runStore{t.TempDir()}
	pid := os.Getpid()
	for path, id := range map[string]core.SessionID{"/a": "one", "/b": "two"} {
		if err := r.save(runNote{Path: path, Session: id, Agent: pid, Start: process.StartID(pid)}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[core.SessionID]bool{"one": false, "two": false, "three": true} {
		if got := r.busyElsewhere(id)[pid]; got != want {
			t.Errorf("for %s: %t, want %t", id, got, want)
		}
	}
}

func TestFindAgentKnowsOnlyAgentsThatArePrograms(t *testing.T) {
	t.Parallel()
	if pid, ok := findAgent("nova", nil, nil); pid != 0 || ok {
		t.Errorf("nova: process %d, %t", pid, ok)
	}
}
