package agent

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

const (
	resumeID   = core.SessionID("0199aaaa-0000-7000-8000-000000000001")
	resumeHead = `{"type":"session","version":3,"id":"0199aaaa-0000-7000-8000-000000000001","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/"}` + "\n"
)

func message(id, parent, text string) string {
	return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"` + text + `","timestamp":1}}` + "\n"
}

// A fakeNode has one session of pi. Methods that it lacks panic.
type fakeNode struct {
	Node
	file   string
	holder *core.Claim
	life   *session.Life

	claims  []core.ClaimRequest
	imports []string
}

func (n *fakeNode) File(context.Context, string, string) (io.ReadCloser, client.Place, error) {
	return io.NopCloser(strings.NewReader(n.file)), client.Place{Name: "talk.jsonl", Cursor: core.Cursor{Seq: 4}, Dialect: "pi"}, nil
}

func (n *fakeNode) Heads(context.Context, string) (api.Heads, error) {
	return api.Heads{Session: resumeID, Heads: []api.HeadInfo{{Head: core.MainHead, Claim: n.holder, Life: n.life}}}, nil
}

func (n *fakeNode) Claim(_ context.Context, _ string, r core.ClaimRequest) (api.Claimed, error) {
	n.claims = append(n.claims, r)
	return api.Claimed{Claim: core.Claim{Writer: "new", Epoch: 2, Seq: 5}, Head: r.Head, Former: n.holder}, nil
}

func (n *fakeNode) Import(_ context.Context, r io.Reader, _ int64, _ client.ImportOptions) (api.Imported, error) {
	b, err := io.ReadAll(r)
	n.imports = append(n.imports, string(b))
	n.file = string(b)
	return api.Imported{}, err
}

// resumeIn resumes the session into dir.
func resumeIn(t *testing.T, n *fakeNode, dir string, o ResumeOptions) (*Resumed, error) {
	t.Helper()
	o.Head, o.Dir = core.MainHead, dir
	return Resume(t.Context(), testHost(map[string]string{"HOME": t.TempDir()}), n, resumeID, o)
}

func TestResumeWritesTheFileUnderAClaim(t *testing.T) {
	t.Parallel()
	n := &fakeNode{file: resumeHead + message("a", "null", "one")}
	r, err := resumeIn(t, n, t.TempDir(), ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(r.Path); err != nil || string(got) != n.file {
		t.Errorf("%s contains %q, %v", r.Path, got, err)
	}
	if len(n.claims) != 1 || n.claims[0].TakeOver || n.claims[0].Agent != "pi" {
		t.Errorf("requested %+v", n.claims)
	}
}

func TestResumeTakesOverOnlyFromSilentHolders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state    session.Life
		takeOver bool
		from     string
		fenced   bool
	}{
		{state: session.Life{State: session.LifeSilent, Seen: time.Unix(1, 0)}, from: "theirs"},
		{state: session.Life{State: session.LifeAlive, Seen: time.Now()}, fenced: true},
		{state: session.Life{State: session.LifeAlive, Seen: time.Now()}, takeOver: true},
	} {
		n := &fakeNode{file: resumeHead, holder: &core.Claim{Writer: "theirs", Host: "elsewhere"}, life: &c.state}
		_, err := resumeIn(t, n, t.TempDir(), ResumeOptions{ClaimOptions: ClaimOptions{TakeOver: c.takeOver}})
		if errors.Is(err, core.ErrFenced) != c.fenced || err != nil && !c.fenced {
			t.Errorf("%s, take-over %t: %v", c.state.State, c.takeOver, err)
		}
		if c.fenced {
			if len(n.claims) > 0 {
				t.Errorf("%s: requested %+v", c.state.State, n.claims)
			}
			continue
		}
		if len(n.claims) != 1 || !n.claims[0].TakeOver || n.claims[0].From != c.from {
			t.Errorf("%s, take-over %t: requested %+v", c.state.State, c.takeOver, n.claims)
		}
	}
}

func TestResumeImportsLinesThatTheLogLacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logged := resumeHead + message("a", "null", "one")
	local := logged + message("b", `"a"`, "two")
	writeTalk(t, dir, local)
	n := &fakeNode{file: logged}
	r, err := resumeIn(t, n, dir, ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(n.imports) != 1 || n.imports[0] != local {
		t.Errorf("imported %q", n.imports)
	}
	if r.Local == nil || r.Local.Text() != "1 line (3)" || r.Imported == nil || r.Imported.Head != core.MainHead || r.Aside != "" {
		t.Errorf("%+v", r)
	}
}

func TestResumeLeavesConflictingFileAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	local := resumeHead + message("a", "null", "other")
	writeTalk(t, dir, local)
	n := &fakeNode{file: resumeHead + message("a", "null", "one")}
	if _, err := resumeIn(t, n, dir, ResumeOptions{}); !errors.Is(err, fs.ErrExist) || len(n.claims) > 0 {
		t.Errorf("%v; requested %+v", err, n.claims)
	}
	r, err := resumeIn(t, n, dir, ResumeOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(r.Aside); err != nil || string(kept) != local || len(n.imports) > 0 {
		t.Errorf("kept %q, %v; imported %q", kept, err, n.imports)
	}
}

func TestResumeDryRunClaimsNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	n := &fakeNode{file: resumeHead, holder: &core.Claim{Writer: "theirs"}, life: &session.Life{State: session.LifeAlive}}
	r, err := resumeIn(t, n, dir, ResumeOptions{DryRun: true})
	if err != nil || !r.DryRun || !errors.Is(r.Refusal, core.ErrFenced) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || len(n.claims) > 0 {
		t.Errorf("%v; requested %+v", err, n.claims)
	}
}

func writeTalk(t *testing.T, dir, text string) {
	t.Helper()
	testkit.WriteFile(t, filepath.Join(dir, "2026-01-02T03-04-05-678Z_0199aaaa-0000-7000-8000-000000000001.jsonl"), []byte(text))
}
