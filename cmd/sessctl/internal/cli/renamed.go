package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Renamed makes cmd, a second copy of a verb, the hidden alias old of it, which
// prints a notice.
func (a *App) Renamed(old string, cmd *cobra.Command) *cobra.Command {
	name, rest, _ := strings.Cut(cmd.Use, " ")
	cmd.Use, cmd.Hidden = strings.TrimSpace(old+" "+rest), true
	a.noteWhenUsed(cmd, old, name)
	for _, sub := range cmd.Commands() {
		a.noteWhenUsed(sub, old, name)
	}
	return cmd
}

func (a *App) noteWhenUsed(cmd *cobra.Command, old, name string) {
	cmd.PreRun = func(*cobra.Command, []string) {
		a.Notef("sessctl %s is now sessctl %s; the next version removes the old name", old, name)
	}
}

// renamedFlag adds the flag old as a hidden alias of the flag name, which prints a
// notice.
func (a *App) renamedFlag(fs *pflag.FlagSet, old, name string) {
	f := *fs.Lookup(name)
	f.Name, f.Shorthand, f.Hidden = old, "", true
	f.Value = &notingValue{f.Value, func() { a.Notef("--%s is now --%s; the next version removes the old name", old, name) }}
	fs.AddFlag(&f)
}

type notingValue struct {
	pflag.Value
	note func()
}

func (v *notingValue) Set(s string) error {
	v.note()
	return v.Value.Set(s)
}
