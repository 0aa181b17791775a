package dialect_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
)

// Each dialect is a profile by its own name, which reads by its own rules.
func TestEveryDialectIsAProfile(t *testing.T) {
	t.Parallel()
	names := dialect.Profiles()
	for name, d := range dialect.All() {
		p, err := dialect.NamedProfile(name)
		if err != nil || p.Dialect != d || !slices.Contains(names, name) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for _, name := range names {
		p, err := dialect.NamedProfile(name)
		agent, _, _ := strings.Cut(name, "@")
		if err != nil || p.Name != name || p.Dialect.Name() != agent {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestUnknownProfileListsKnownOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"vim", "PI", "pi@", "pi@2", " pi", strings.Repeat("x", 1000)} {
		_, err := dialect.NamedProfile(name)
		if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "operator, operator@request, pi, pi@0.73") || len(err.Error()) > 300 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const (
	header = `{"type":"session","version":3,"id":"i","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}`
	hello  = `{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"hello"}}`
	lost   = `{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"assistant","content":null,"provider":"p","model":"m"}}`
	mode   = `{"type":"mode_change","id":"m1","parentId":"a1","timestamp":"2026-01-02T03:04:07.000Z","mode":"plan"}`
	again  = `{"type":"session","id":"s2"}`
)

// slot is a title slot of omp.
var slot = `{"type":"title","v":1,"title":"","updatedAt":"2026-01-02T03:04:05.000Z","pad":"` + strings.Repeat(" ", 172) + `"}`

// read is the session of a file of the dialect called name, standing where it
// ends, as the profile called by reads it.
func read(t *testing.T, name, by string, lines ...string) dialect.Session {
	t.Helper()
	f, d, err := dialect.Read(name, []byte(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := dialect.NamedProfile(by)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.View(dialect.Session{ID: "session1", Dialect: d, Header: f.Header, Entries: f.Entries, Leaf: d.Leaf(f.Entries)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The same lines are read by the rules of three agents.
func TestProfileReadsLinesOfItsFamily(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{
		"":        `{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[],"provider":"p","model":"m"}],"thinkingLevel":"off","model":{"provider":"p","modelId":"m"}}`,
		"pi@0.73": `{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":null,"provider":"p","model":"m"}],"thinkingLevel":"off","model":{"provider":"p","modelId":"m"}}`,
		"omp": `{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":null,"provider":"p","model":"m"}],` +
			`"thinkingLevel":"off","models":{"default":"p/m"},"injectedTtsrRules":[],"mode":"plan"}`,
	} {
		s := read(t, "pi", by, header, hello, lost, mode)
		got, err := s.Dialect.Context(s.Entries, s.Leaf)
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", by, got, err)
		}
	}
}

// Lines that one agent keeps aside or does not count as entries do not affect
// other profiles: if the leaf is the end of a session, it is so in every profile.
func TestViewKeepsLeafAtEnd(t *testing.T) {
	t.Parallel()
	s := read(t, "omp", "pi", slot, header, hello, again)
	if len(s.Entries) != 2 || s.Leaf != core.LeafAt("u1") {
		t.Errorf("%d entries, leaf %v", len(s.Entries), s.Leaf)
	}
	s = read(t, "pi", "omp", header, hello, again)
	if len(s.Entries) != 2 || s.Leaf != core.LeafAt("s2") {
		t.Errorf("%d entries, leaf %v", len(s.Entries), s.Leaf)
	}
	s = read(t, "pi", "pi@0.73", header, hello)
	if _, err := s.Dialect.Context(s.Entries, core.LeafAt("nowhere")); !errors.Is(err, core.ErrNotFound) {
		t.Error(err)
	}
}

// A file that a profile's agent refuses is read as its own agent reads it.
func TestProfileReadsFile(t *testing.T) {
	t.Parallel()
	two := []byte(header + "\n" + hello + lost + "\n")
	withSlot := []byte(slot + "\n" + header + "\n" + hello + "\n")
	for _, c := range []struct {
		profile, by string
		data        []byte
		entries     int
	}{
		{"", "pi", two, 0},
		{"pi", "pi", two, 0},
		{"pi@0.73", "pi", two, 0},
		{"omp", "omp", two, 1},
		{"operator", "pi", two, 0},
		{"", "omp", withSlot, 2},
		{"pi", "omp", withSlot, 2},
	} {
		p, err := dialect.NamedProfile(c.profile)
		if err != nil {
			t.Fatal(err)
		}
		own, err := dialect.Detect(c.data)
		if err != nil {
			t.Fatal(err)
		}
		f, d, err := p.File(own, c.data)
		if err != nil || d.Name() != c.by || len(f.Entries) != c.entries {
			t.Errorf("%q: read by %v, %+v, %v", c.profile, d, f, err)
		}
	}
}

// For a profile of another family the session is what conversion makes of it,
// its failure included.
func TestProfileOfOtherFamilyConverts(t *testing.T) {
	t.Parallel()
	own, other := read(t, "pi", "", header, hello), dialect.All()["operator"]
	res, wantErr := convert.Convert(convert.Request{
		From: own.Dialect, To: other, Header: own.Header, Entries: own.Entries, Leaf: own.Leaf, ID: "i", Time: "2026-01-02T03:04:05.000Z",
	})
	p, err := dialect.NamedProfile("operator")
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.View(own)
	if wantErr != nil || err != nil {
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%v, conversion says %v", err, wantErr)
		}
		return
	}
	if s.Dialect != other || s.Leaf != res.Leaf || len(s.Entries) != len(res.Entries) || s.Header.CWD != own.Header.CWD {
		t.Errorf("%+v, conversion makes %+v", s, res)
	}
	if _, err := s.Dialect.Context(s.Entries, s.Leaf); err != nil {
		t.Error(err)
	}
}
