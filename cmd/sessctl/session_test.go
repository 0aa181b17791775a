package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

func TestFilePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arg  string
		ok   bool
		exit int
	}{
		{"-", true, exitOK},
		{file, true, exitOK},
		{dir, false, exitInvalid},
		{filepath.Join(dir, "g"), false, exitNotFound},
		{filepath.Join(file, "below"), false, exitOther}, // a file is no directory
		{"not-here.jsonl", false, exitNotFound},
		{"01234567", false, exitOK},
		{"not-here", false, exitOK},
	} {
		_, ok, err := filePath(c.arg)
		exit := exitOK
		if err != nil {
			exit = describe(err, "").Exit
		}
		if ok != c.ok || exit != c.exit {
			t.Errorf("%q: %v, %v, want %v and exit code %d", c.arg, ok, err, c.ok, c.exit)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	odd := string(core.SessionIDFor("pi", "my session!"))
	tiny := string(core.SessionIDFor("pi", "tiny"))
	f := newFake(t)
	f.has([]string{"session-1", "session-10", "session-100", "aaaabbbb", odd, tiny}, "trashed-1", "trashed-2")
	f.refuses("GET /v1/sessions/{id}", api.Detail{Status: 404, Code: "not-found", Detail: "no such session"})
	f.answers("GET /v1/sessions/unlisted", api.Info{}) // beside unlisted-2, as a listing that lags has it
	node := &client.Client{Base: f.url}
	for _, c := range []struct {
		arg   string
		trash bool
		want  string
		exit  int
	}{
		{arg: "session-1", want: "session-1"},     // exact before prefix
		{arg: "session-100", want: "session-100"}, // the only one
		{arg: "session-", exit: exitUsage},        // several, none exact
		{arg: "aaa", want: "aaaabbbb"},            // a prefix
		{arg: "my session!", want: odd},           // the agent's own id
		{arg: "tiny", want: tiny},                 // too short for the log
		{arg: "x-", exit: exitUsage},              // both of these
		{arg: "nobody00", want: "nobody00"},       // could be an id that is not listed yet
		{arg: "nobody", exit: exitNotFound},       // could not
		{arg: "no body", exit: exitNotFound},      //
		{arg: "*", exit: exitNotFound},            //
		{arg: "", exit: exitUsage},                // never all of them
		{arg: "tras", exit: exitNotFound},         // they are in the trash
		{arg: "trashed-1", want: "trashed-1"},     // the verb says that it is deleted
		{arg: "trashed-2", trash: true, want: "trashed-2"},
		{arg: "trashed", trash: true, exit: exitUsage},
		{arg: "session", trash: true, exit: exitNotFound},
	} {
		got, err := resolve(t.Context(), node, c.arg, c.trash)
		exit := exitOK
		if err != nil {
			exit = describe(err, "").Exit
		}
		if string(got) != c.want || exit != c.exit {
			t.Errorf("%q (trash %v): %q, %v, want %q and exit code %d", c.arg, c.trash, got, err, c.want, c.exit)
		}
	}
}

func TestAnUnlistedSessionIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.has([]string{"session-10"})
	f.answers("GET /v1/sessions/session-1", api.Info{})
	got, err := resolve(t.Context(), &client.Client{Base: f.url}, "session-1", false)
	if got != "session-1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAmbiguousNamesFive(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.has([]string{"many-001", "many-002", "many-003", "many-004", "many-005", "many-006", "many-007"})
	wantResult(t, f.run("info", "many"), exitUsage, "",
		"sessctl: info: \"many\" is the beginning of several sessions: many-001, many-002, many-003, many-004, many-005 and more\nnext: write more of the id\n")
}

func TestTrashIsNamed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.has(nil, "gone-0001")
	f.refuses("GET /v1/sessions/{id}", api.Detail{Status: 404, Code: "not-found"})
	wantResult(t, f.run("info", "gone-000"), exitDeleted, "", "sessctl: info: session gone-0001 is in the trash\n")
	wantResult(t, f.run("info", "gone"), exitDeleted, "", "next: take it out with: sessctl rm --undo gone-0001\n")
}
