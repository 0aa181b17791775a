package cli

import (
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/nodetest"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

func TestFilePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	testkit.WriteFile(t, file, nil)
	for _, c := range []struct {
		arg  string
		ok   bool
		exit int
	}{
		{"-", true, ExitOK},
		{file, true, ExitOK},
		{dir, false, ExitInvalid},
		{filepath.Join(dir, "g"), false, ExitNotFound},
		{filepath.Join(file, "below"), false, ExitOther}, // a file is no directory
		{"not-here.jsonl", false, ExitNotFound},
		{"01234567", false, ExitOK},
		{"not-here", false, ExitOK},
	} {
		_, ok, err := filePath(c.arg)
		exit := ExitOK
		if err != nil {
			exit = Describe(err, "").Exit
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
	f := nodetest.New(t)
	f.Has([]string{"session-1", "session-10", "session-100", "aaaabbbb", odd, tiny}, "trashed-1", "trashed-2")
	f.Refuses("GET /v1/sessions/{id}", api.Detail{Status: 404, Code: "not-found", Detail: "no such session"})
	f.Answers("GET /v1/sessions/unlisted", api.Info{}) // beside unlisted-2, as a listing that lags has it
	node := &client.Client{Base: f.URL}
	for _, c := range []struct {
		arg   string
		trash bool
		want  string
		exit  int
	}{
		{arg: "session-1", want: "session-1"},     // exact before prefix
		{arg: "session-100", want: "session-100"}, // the only one
		{arg: "session-", exit: ExitUsage},        // several, none exact
		{arg: "aaa", want: "aaaabbbb"},            // a prefix
		{arg: "my session!", want: odd},           // the agent's own id
		{arg: "tiny", want: tiny},                 // too short for the log
		{arg: "x-", exit: ExitUsage},              // both of these
		{arg: "nobody00", want: "nobody00"},       // could be an id that is not listed yet
		{arg: "nobody", exit: ExitNotFound},       // could not
		{arg: "no body", exit: ExitNotFound},      //
		{arg: "*", exit: ExitNotFound},            //
		{arg: "", exit: ExitUsage},                // never all of them
		{arg: "tras", exit: ExitNotFound},         // they are in the trash
		{arg: "trashed-1", want: "trashed-1"},     // the verb says that it is deleted
		{arg: "trashed-2", trash: true, want: "trashed-2"},
		{arg: "trashed", trash: true, exit: ExitUsage},
		{arg: "session", trash: true, exit: ExitNotFound},
	} {
		got, err := resolve(t.Context(), node, c.arg, c.trash)
		exit := ExitOK
		if err != nil {
			exit = Describe(err, "").Exit
		}
		if string(got) != c.want || exit != c.exit {
			t.Errorf("%q (trash %v): %q, %v, want %q and exit code %d", c.arg, c.trash, got, err, c.want, c.exit)
		}
	}
}

func TestResolvePrefersExactUnlistedSession(t *testing.T) {
	t.Parallel()
	f := nodetest.New(t)
	f.Has([]string{"session-10"})
	f.Answers("GET /v1/sessions/session-1", api.Info{})
	got, err := resolve(t.Context(), &client.Client{Base: f.URL}, "session-1", false)
	if got != "session-1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
