package agents

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func psCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "ps",
		Short: "Show nodes and active writers",
		Long: `Shows the nodes and the writers that are active, or were in the last hour: name,
host, start, last heartbeat, and the heads that they hold. ps lists the latest 64
heads of each writer and counts the others. For those, sessctl heads cannot tell
whether the holder is active. A process is alive if its last heartbeat is at most
30 seconds old.

All nodes are shown. Of the writers, only those that keep running are: programs
with an open session, and sessctl claim --hold. The claims of a sessctl that has
ended are shown by sessctl heads.

With -o json: a list with an object for each process: kind (node or writer), id,
agent, host, by, node (that received a writer's heartbeat), since, seen, alive, and
holds, a list with session, head and writer; more, how many it holds beyond that
list.`,
		Example: "sessctl ps",
		Args:    cobra.NoArgs,
		RunE: a.Run(cli.Short, func(ctx context.Context, _ []string) error {
			return a.ps(ctx)
		}),
	}
}

func (a app) ps(ctx context.Context) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	list, err := node.Presence(ctx)
	if err != nil {
		return err
	}
	list.Present = cli.NotNil(list.Present)
	return a.Print(list.Present, func() error { return a.printPresent(list) })
}

func (a app) printPresent(list api.PresenceList) error {
	g := a.NewGrid()
	g.Row("KIND", "WHO", "HOST", "SINCE", "STATE", "HOLDS")
	for _, p := range list.Present {
		state := "alive"
		if !p.Alive {
			state = "silent since " + a.Time(p.Seen)
		}
		who := p.Agent
		if who == "" {
			who = p.By
		}
		holds := "-"
		if len(p.Holds) > 0 {
			holds = holdText(p.Holds[0].Session, p.Holds[0].Head)
		}
		g.Row(p.Kind, cli.OrNone(who), cli.OrNone(p.Host), a.Time(p.Since), state, holds)
		for i := 1; i < len(p.Holds); i++ {
			g.Row("", "", "", "", "", holdText(p.Holds[i].Session, p.Holds[i].Head))
		}
		if p.More > 0 {
			g.Row("", "", "", "", "", fmt.Sprintf("and %d more, older ones", p.More))
		}
	}
	return g.Flush()
}

func holdText(id core.SessionID, head string) string { return string(id) + "@" + head }
