package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core/dialect"
)

// profileFlag says by whose rules a session is read.
type profileFlag struct{ profile string }

func (p *profileFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.profile, "profile", "",
		"read by the rules of the agent `NAME`: "+strings.Join(dialect.Names(true), ", ")+" (default the session's own, at its newest version)")
}

// api is what a node is asked for.
func (p profileFlag) api(v viewFlags) api.View {
	view := v.api()
	view.Profile = p.profile
	return view
}

// as returns the file as the flags want it read.
func (f *sessionFile) as(p profileFlag, v viewFlags) (dialect.View, error) {
	leaf, err := f.view(v)
	if err != nil {
		return dialect.View{}, err
	}
	return dialect.View{Dialect: f.dialect, Header: f.Header, Entries: f.Entries, Leaf: leaf}.As(p.profile)
}
