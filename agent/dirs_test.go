package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSessionsDirOfEveryAgent(t *testing.T) {
	t.Parallel()
	moved := t.TempDir()
	if err := os.Mkdir(filepath.Join(moved, "omp"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dialect string
		env     map[string]string
		want    string
	}{
		{"omp", map[string]string{"HOME": "/h"}, "/h/.omp/agent/sessions"}, // OMP-01
		{"omp", map[string]string{"HOME": "/h", "PI_CONFIG_DIR": ".mine"}, "/h/.mine/agent/sessions"},
		{"omp", map[string]string{"HOME": "/h", "PI_CODING_AGENT_DIR": "/own"}, "/own/sessions"},
		{"omp", map[string]string{"HOME": "/h", "XDG_DATA_HOME": moved}, filepath.Join(moved, "omp", "sessions")},
		{"operator", map[string]string{"HOME": "/h"}, "/h/.operator/sessions"},
		{"openrath", map[string]string{"HOME": "/h"}, "/h/.openrath/sessions"}, // RATH-40
		{"openrath", map[string]string{"HOME": "/h", "OPENRATH_HOME": "/rath"}, "/rath/sessions"},
		{"nova", map[string]string{"HOME": "/h"}, ".nova/sessions"}, // NOVA-01
		{"opencode", map[string]string{"HOME": "/h"}, "/h/.local/share/opencode/opencode.db"},
		{"opencode", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/opencode/opencode.db"},
		{"opencode", map[string]string{"HOME": "/h", "OPENCODE_DB": "own.db"}, "/h/.local/share/opencode/own.db"},
	} {
		got, _, err := testHost(c.env).sessionsDir(c.dialect, "")
		if err != nil || got != filepath.FromSlash(c.want) {
			t.Errorf("%s with %v: %q, %v, want %q", c.dialect, c.env, got, err, c.want)
		}
	}
	if _, _, err := testHost(nil).sessionsDir("omp", ""); !errors.Is(err, ErrUsage) {
		t.Errorf("without a home: %v", err)
	}
	if _, _, err := testHost(map[string]string{"HOME": "/h"}).sessionsDir("somebody", ""); !errors.Is(err, ErrUsage) {
		t.Errorf("an unknown agent: %v", err)
	}
}

func TestRootsFollowTheEnvironment(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".operator", "profiles", "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(env map[string]string) (all []string) {
		env["HOME"] = home
		for _, r := range Roots(func(name string) string { return env[name] }, filepath.Join(home, "p")) {
			rel, err := filepath.Rel(home, r.Path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r.Dialect+" "+rel)
		}
		return all
	}
	rest := []string{"operator .operator/sessions", "operator .operator/profiles/work/sessions", "openrath .openrath/sessions", "nova p/.nova/sessions"}
	for _, row := range []struct {
		env  map[string]string
		want []string
	}{
		{map[string]string{}, []string{"pi .pi/agent/sessions", "omp .omp/agent/sessions"}},
		{map[string]string{"PI_CODING_AGENT_DIR": "~/both"}, []string{" both/sessions"}},
		{map[string]string{"PI_CODING_AGENT_DIR": home + "/both"}, []string{" both/sessions"}},
		{map[string]string{"PI_CODING_AGENT_SESSION_DIR": "~/flat", "PI_CONFIG_DIR": ".ohmy"}, []string{"pi flat", "omp .ohmy/agent/sessions"}},
	} {
		if got, want := at(row.env), slices.Concat([]string{"claude .claude/projects", "codex .codex/sessions", "opencode .local/share/opencode/opencode.db"}, row.want, rest); !slices.Equal(got, want) {
			t.Errorf("%v\ngot  %q\nwant %q", row.env, got, want)
		}
	}
}
