package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sesslog/sesslog/agent/eventdb/eventdbtest"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/internal/testkit"
)

// found returns the ids of the sessions that a finder finds.
func found(f *finder) (ids []string) {
	for _, s := range f.scan(0) {
		ids = append(ids, string(s.session))
	}
	slices.Sort(ids)
	return ids
}

func TestFinderFindsSessionsInADatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := eventdbtest.New(t, filepath.Join(t.TempDir(), "opencode.db"))
	for _, id := range []string{"ses_earlier", "ses_continued", "ses_elsewhere"} {
		d.Create(t, id, dir)
	}
	d.Create(t, "ses_named", "/another/host")
	f := newFinder([]follow.Root{{Path: d.Path, Dialect: "opencode"}}, dir, []string{"opencode", "--session", "ses_named"})
	defer f.close()
	if got := found(f); len(got) > 0 {
		t.Errorf("before the agent has begun: %q", got)
	}
	d.Say(t, "ses_continued", "more")
	d.Say(t, "ses_named", "more")
	d.Create(t, "ses_created", dir)
	d.Create(t, "ses_other", filepath.Join(dir, "other"))
	d.Say(t, "ses_imported", "no beginning")
	if got, want := found(f), []string{"ses_continued", "ses_created", "ses_named"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := found(f); len(got) > 0 {
		t.Errorf("found again: %q", got)
	}
}

// A database that cannot be read before the agent begins does not make its old
// sessions the agent's.
func TestFinderWithoutABaseline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := eventdbtest.New(t, filepath.Join(t.TempDir(), "opencode.db"))
	d.Create(t, "ses_earlier", dir)
	hidden := d.Path + ".hidden"
	if err := os.Rename(d.Path, hidden); err != nil {
		t.Skip(err)
	}
	testkit.WriteFile(t, d.Path, []byte("no database, and long enough to be read as one"))
	f := newFinder([]follow.Root{{Path: d.Path, Dialect: "opencode"}}, dir, []string{"opencode"})
	defer f.close()
	if err := os.Rename(hidden, d.Path); err != nil {
		t.Fatal(err)
	}
	if got := found(f); len(got) > 0 {
		t.Errorf("found %q", got)
	}
	d.Say(t, "ses_earlier", "more")
	if got := found(f); !slices.Equal(got, []string{"ses_earlier"}) {
		t.Errorf("found %q after it has grown", got)
	}
}
