package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func contextsCmd(a app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contexts",
		Short: "Manage named clusters",
		Long: `A context is a name for a cluster: the URLs of its nodes and the token for them.
Every verb uses the current context, unless --url, --context, SESS_URL or
SESS_CONTEXT select another cluster. Contexts are kept in
~/.config/sesslog/contexts.yaml ($XDG_CONFIG_HOME), which only its owner can read.

To see what an agent would send to its model, use another verb: sessctl model-input.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.listContexts() },
	}
	cmd.AddCommand(contextsLsCmd(a), contextsAddCmd(a), contextsUseCmd(a), contextsRmCmd(a))
	return cmd
}

func contextsLsCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List contexts",
		Long: `Lists the contexts; a star marks the current one. Tokens are not shown.

With -o json: a list of objects with name, url, current and token: kept (in the
file), file (in a separate file) or none.`,
		Example: "sessctl contexts ls",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.listContexts() },
	}
}

// listedContext is a context as ls prints it.
type listedContext struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Current bool   `json:"current"`
	Token   string `json:"token"`
}

func (a app) listContexts() error {
	c, err := a.ReadContexts()
	if err != nil {
		return err
	}
	list := []listedContext{}
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		t := c.Contexts[name]
		list = append(list, listedContext{name, t.URL, name == c.Current, t.Keeps()})
	}
	return a.Print(list, func() error {
		if len(list) == 0 {
			a.Notef("no contexts; add one with: sessctl contexts add NAME --url URL")
			return nil
		}
		g := a.NewGrid()
		g.Row("", "NAME", "TOKEN", "URL")
		for _, l := range list {
			g.Row(map[bool]string{true: "*"}[l.Current], l.Name, l.Token, l.URL)
		}
		return g.Flush()
	})
}

func contextsAddCmd(a app) *cobra.Command {
	var tokenFile string
	var replace bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a context",
		Long: `Stores the nodes of --url under NAME, with the token of --token, or with the file
that --token-file names, which is read at each use. The first context becomes the
current one. No node is contacted.

With -o json: the object that ls lists.`,
		Example: "sessctl contexts add prod --url https://n1:7433 --token-file ~/.prod-token",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.addContext(args[0], cli.Cluster{URL: a.URL, Token: a.Token, TokenFile: tokenFile}, replace)
		},
	}
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "the absolute path of the `FILE` that has the token")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace an existing context of that name")
	return cmd
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (a app) addContext(name string, t cli.Cluster, replace bool) error {
	switch {
	case !contextName.MatchString(name):
		return cli.Usagef("%.128q is not a context name: use 1 to 64 of A-Z a-z 0-9 . _ -", name)
	case t.URL == "":
		return cli.Usagef("--url is missing: the nodes of %s", name)
	case t.Token != "" && t.TokenFile != "":
		return cli.Usagef("--token and --token-file exclude each other")
	}
	var err error
	if t.URL, err = cli.CheckURLs(t.URL); err != nil {
		return err
	}
	c, err := a.ReadContexts()
	if err != nil {
		return err
	}
	if _, there := c.Contexts[name]; there && !replace {
		return cli.Hintf(fmt.Errorf("context %s: %w", name, core.ErrExists), "choose another name, or: --replace")
	}
	c.Contexts[name] = t
	if c.Current == "" {
		c.Current = name
	}
	if err := a.WriteContexts(c); err != nil {
		return err
	}
	return a.Print(listedContext{name, t.URL, name == c.Current, t.Keeps()}, func() error {
		return a.Printf("%s  %s", name, t.URL)
	})
}

func contextsUseCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: "Select the current context",
		Long: `Makes NAME the context that every verb uses.

With -o json: the object that ls lists.`,
		Example:           "sessctl contexts use prod",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := a.ReadContexts()
			if err != nil {
				return err
			}
			t, err := c.Named(args[0])
			if err != nil {
				return err
			}
			c.Current = args[0]
			if err := a.WriteContexts(c); err != nil {
				return err
			}
			return a.Print(listedContext{args[0], t.URL, true, t.Keeps()}, func() error {
				return a.Printf("%s  %s", args[0], t.URL)
			})
		},
	}
}

func contextsRmCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove a context",
		Long: `Removes a context and its token from the file. The cluster is not changed.

With -o json: the object that ls listed.`,
		Example:           "sessctl contexts rm prod",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := a.ReadContexts()
			if err != nil {
				return err
			}
			t, err := c.Named(args[0])
			if err != nil {
				return err
			}
			was := args[0] == c.Current
			delete(c.Contexts, args[0])
			if was {
				c.Current = ""
			}
			if err := a.WriteContexts(c); err != nil {
				return err
			}
			return a.Print(listedContext{args[0], t.URL, was, t.Keeps()}, func() error {
				if was {
					a.Notef("it was the current one; choose another with: sessctl contexts use NAME")
				}
				return a.Printf("%s is removed", args[0])
			})
		},
	}
}
