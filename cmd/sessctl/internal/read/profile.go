package read

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// A profileFlag selects the agent whose rules apply.
type profileFlag struct {
	name string
	dialect.Profile
}

func (p *profileFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.name, "profile", "", "read it by the rules of `AGENT`: "+strings.Join(dialect.Profiles(), ", ")+" (default the session's own)")
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(dialect.Profiles(), cobra.ShellCompDirectiveNoFileComp))
}

// check resolves the profile. An unknown name is a usage error.
func (p *profileFlag) check() (err error) {
	if p.Profile, err = dialect.NamedProfile(p.name); err != nil {
		return cli.Usagef("%s", core.Reason(err))
	}
	return nil
}

// say returns the dialect of a session, and the profile if it differs.
func (p *profileFlag) say(name string) string {
	if p.name == "" || p.name == name {
		return name
	}
	return name + " as read by " + p.name
}

// read returns f as p's agent reads it, and the leaf that v names. A file that p's
// agent cannot read is converted first.
func (p *profileFlag) read(f *cli.SessionFile, v cli.ViewFlags) (*cli.SessionFile, core.Leaf, error) {
	if p.Dialect == nil {
		leaf, err := f.View(v)
		return f, leaf, err
	}
	seen := *f
	var err error
	if seen.File, seen.Rules, err = p.File(f.Rules, f.Data); err != nil {
		return nil, core.Leaf{}, err
	}
	leaf, err := seen.View(v)
	if err != nil {
		return nil, core.Leaf{}, err
	}
	s, err := p.View(dialect.Session{
		ID: core.SessionIDFor(f.Dialect, f.Header.ID), Dialect: seen.Rules, Header: seen.Header, Entries: seen.Entries, Leaf: leaf,
	})
	if err != nil {
		return nil, core.Leaf{}, err
	}
	converted := *seen.File
	converted.Header, converted.Entries = s.Header, s.Entries
	seen.File, seen.Rules = &converted, s.Dialect
	return &seen, s.Leaf, nil
}
