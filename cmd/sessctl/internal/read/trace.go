package read

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/internal/agentspans"
)

func traceCmd(a app) *cobra.Command {
	var v cli.ViewFlags
	var content bool
	cmd := &cobra.Command{
		Use:   "trace SESSION",
		Short: "Send a session to an OpenTelemetry collector",
		Long: `Sends the path to the head as spans with the semantic conventions for generative AI
to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names, by OTLP over HTTP. Each turn
is a trace: invoke_agent, and below it chat for each answer with its model, tokens and
cost, and execute_tool for each call. A span begins when the one before it ended.

What was said, and the arguments and results of calls, are sent only with --content.
Sent again, a turn has the same ids.

The other variables OTEL_EXPORTER_OTLP_..., OTEL_SERVICE_NAME (default sessctl) and
OTEL_RESOURCE_ATTRIBUTES hold, too. With -o json: one object with spans and turns.`,
		Example: `OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 sessctl trace 019a
sessctl trace 019a --head review --content`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if err := v.Check(); err != nil {
				return err
			}
			return a.trace(ctx, args[0], v, content)
		}),
	}
	v.Add(cmd)
	cmd.Flags().BoolVar(&content, "content", false, "send what was said, and the arguments and results of calls")
	a.Demand.Add(cmd)
	return cmd
}

// A traced is the output of trace.
type traced struct {
	Spans int `json:"spans"`
	Turns int `json:"turns"`
}

func (a app) trace(ctx context.Context, arg string, v cli.ViewFlags, content bool) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	t, err := a.trajectory(ctx, src, v)
	if err != nil {
		return err
	}
	var done traced
	done.Spans, done.Turns, err = agentspans.Send(ctx, a.Env, &t, content)
	if errors.Is(err, agentspans.ErrDisabled) {
		return cli.Hintf(cli.Usagef("%v", err), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 sessctl trace %s", arg)
	}
	if err != nil {
		return err
	}
	return a.Print(done, func() error {
		return a.Printf("sent %s of %s", cli.Count(done.Spans, "span", "spans"), cli.Count(done.Turns, "turn", "turns"))
	})
}
