package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/acpproxy"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func acpCmd(a app) *cobra.Command {
	var takeOver bool
	cmd := &cobra.Command{
		Use:   "acp -- AGENT ARG...",
		Short: "Keep an editor's sessions with an agent in the log",
		Long: `Starts an agent that uses the Agent Client Protocol, and connects it with the
editor, which starts sessctl instead of the agent. All messages pass; prompts,
updates and ends of turns are stored as a session of the dialect acp, and the editor
lists, loads, resumes and deletes sessions of the log, on any host, even if the
agent cannot.

A session is claimed while it is open in an editor. Another editor that loads it gets
an error with the holder's name, unless the holder is gone or with --take-over.
If the agent of this host does not know a loaded session, it gets what was said as
text in front of the next prompt.

A prompt that no node accepts is refused with an error of the protocol.`,
		Example: `sessctl acp -- opencode acp
sessctl acp -- npx @agentclientprotocol/claude-agent-acp`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return cli.Usagef("give the command after two dashes: sessctl acp -- AGENT ARG...")
			}
			return nil
		},
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			return a.acp(ctx, args, takeOver)
		}),
	}
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "load sessions that another active writer holds")
	a.SecretsFlag(cmd)
	return cmd
}

func (a app) acp(ctx context.Context, argv []string, takeOver bool) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	host, err := a.AgentHost()
	if err != nil {
		return err
	}
	// What is left is stored even if the editor is gone: a write to its pipe must not end
	// this program.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	agent := exec.CommandContext(ctx, argv[0], argv[1:]...)
	agent.Stderr = a.Stderr.Writer
	in, err := agent.StdinPipe()
	if err != nil {
		return err
	}
	out, err := agent.StdoutPipe()
	if err != nil {
		return err
	}
	if err := agent.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	err = acpproxy.Run(ctx, acpproxy.Options{
		Node: node, Agent: filepath.Base(argv[0]), Host: host.Name, By: host.By, TakeOver: takeOver, Mask: host.Secrets.Mask,
	}, a.Stdin, a.Stdout.Writer, out, in)
	cancel() // an agent that still runs is killed
	ended := agent.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](ended); ok && err == nil && failed.ExitCode() > 0 {
		return cli.Reported{Exit: failed.ExitCode()}
	}
	return err
}
