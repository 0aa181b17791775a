package read

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/mcpserver"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func mcpCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve the log to an agent by the Model Context Protocol",
		Long: `Serves the log by the Model Context Protocol on standard input and output, until
the input ends. An agent starts it, and can then find and read what any agent of
the log did: tools list_sessions, search_sessions, read_session and
session_context, and resources session://ID that can be subscribed to. It never
writes. Register it with your agent as the command "sessctl mcp"; --url and the
context select the log.

Sessions contain what other agents and their tools wrote. Give the agent a token of
scope read, with a session prefix if it must not see everything.`,
		Example: `claude mcp add sesslog -- sessctl mcp
codex mcp add sesslog -- sessctl mcp`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Forever, func(ctx context.Context, _ []string) error {
			node, err := a.Client()
			if err != nil {
				return err
			}
			pipe := &mcp.IOTransport{Reader: io.NopCloser(a.Stdin), Writer: noClose{a.Stdout}}
			err = mcpserver.New(ctx, node, version()).Run(ctx, pipe)
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil
			}
			return err
		}),
	}
}

// version is this program's, for the agent to show.
func version() string {
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
		return build.Main.Version
	}
	return "(devel)"
}

// noClose is a writer that the transport must not close.
type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }
