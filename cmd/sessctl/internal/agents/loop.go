package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// defaultPrompt is the system prompt unless --system is given.
const defaultPrompt = "You are an agent. Your tools work in a directory of the user's host. Do what the user asks, then say briefly what you did."

func loopCmd(a app) *cobra.Command {
	var f loopFlags
	cmd := &cobra.Command{
		Use:   "loop [TEXT...]",
		Short: "Run a small agent that survives its host",
		Long: `Runs a small agent: it asks a model, runs the tools that the model calls, and asks
again, until the model has nothing more to do. Each step is in the log before the
next one begins. If the agent or its host dies, --resume continues the session on
any host: nothing that was done is done again.

TEXT is what the agent is asked; without it, standard input is. With --resume, TEXT
is the next message; without it, the agent only ends what it was doing. An agent that
is interrupted or that cannot reach its model can be resumed, too. --resume takes the
session over from a host that still runs it, which then stops before its next step
and says who has the session. It runs the calls of tools that the session has, with
your rights: continue only sessions of users whom you trust.

The model is VENDOR/NAME. The vendor is anthropic or openai; others that have the API
of one of these are named by ANTHROPIC_BASE_URL or OPENAI_BASE_URL. The key is
ANTHROPIC_API_KEY or OPENAI_API_KEY. sessctl starts the program sessmodel for this,
which must be beside it or in PATH.

The tools work in the directory of --dir: read and write in its files, bash with all
rights of the user, or with --image in containers that see only this directory. A
command of bash that was interrupted is not run again; the model is told. The first
row of the session keeps the system prompt, the model, the tools, the directory and
the image. The session is one of OpenRath: sessctl tree, export and lineage show it.

What the model says goes to standard output, the calls of tools to standard error.
With -o json: one object with session, reason (stop, length, content_filter,
truncated or closed), text (the last one), and usage if it is known.`,
		Example: `sessctl loop --model openai/gpt-5 which port does the server use?
sessctl loop --model openai/gpt-5 --tools read,bash < task.md
sessctl loop --resume 019a
sessctl loop --resume 019a now add a test`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			f.text = strings.Join(args, " ")
			return a.loop(ctx, f)
		},
	}
	cmd.Flags().StringVar(&f.Model, "model", "", "ask this model, such as `VENDOR/NAME`")
	cmd.Flags().StringSliceVar(&f.Tools, "tools", []string{"read"}, "the `NAMES` of tools that the model may call, of read, write and bash")
	cmd.Flags().StringVar(&f.system, "system", defaultPrompt, "the system prompt, a `TEXT`")
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue this `SESSION`, also if another host has it")
	cmd.Flags().StringVar(&f.Image, "image", "", "run commands in containers of this `IMAGE`, by the docker client")
	cmd.Flags().StringVar(&f.Dir, "dir", "", "the `DIR` in which the tools work (default: that of the session, else the current one)")
	return cmd
}

type loopFlags struct {
	loopSettings
	system, resume string
	text           string
}

// loopSettings are what the first row of a session keeps, beside the system prompt.
type loopSettings struct {
	Model string   `json:"model"`
	Tools []string `json:"tools"`
	Dir   string   `json:"dir"`
	Image string   `json:"image,omitempty"` // of containers; empty for commands on the host itself
}

func (f *loopFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if changed("resume") {
		if f.resume == "" {
			return cli.Usagef("--resume is empty")
		}
		if changed("system") {
			return cli.Usagef("--system and --resume exclude each other: the session has its system prompt")
		}
		if !changed("tools") {
			f.Tools = nil // those of the session
		}
	} else if f.Model == "" {
		return cli.Usagef("name a model: --model VENDOR/NAME")
	}
	return nil
}

// checkSettings validates the model and the directory, also those of a session.
func (f *loopFlags) checkSettings() error {
	vendor, name, _ := strings.Cut(f.Model, "/")
	if name == "" || vendor != "anthropic" && vendor != "openai" {
		return cli.Usagef("--model %.128q is not of the form VENDOR/NAME, with the vendor anthropic or openai", f.Model)
	}
	dir, err := agent.RealDir(f.Dir)
	if err != nil {
		return err
	}
	f.Dir = dir
	if _, err := os.Stat(dir); err != nil {
		return cli.Hintf(cli.FileError(dir, err), "name a directory of this host with: --dir DIR")
	}
	return nil
}

// A loopResult is the output of loop.
type loopResult struct {
	Session core.SessionID `json:"session"`
	Reason  loop.Reason    `json:"reason"`
	Text    string         `json:"text"`
	Usage   *loop.Usage    `json:"usage,omitempty"`
}

// loop runs the agent. What it could not finish, another call with --resume does.
func (a app) loop(ctx context.Context, f loopFlags) error {
	if err := a.readText(ctx, &f); err != nil {
		return err
	}
	node, id, err := a.loopSession(ctx, &f)
	if err != nil {
		return err
	}
	if err := f.checkSettings(); err != nil {
		return err
	}
	out := &loopPrinter{app: a}
	config, closeTools, err := a.loopConfig(f, out)
	if err != nil {
		return err
	}
	defer closeTools()
	s, err := a.openLoop(ctx, node.Log(), id, f)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		_ = s.Close(last) // the rows are in the log, and a claim that stays can be taken over
	}()
	result, err := runLoop(ctx, s, config, f.text)
	out.endLine()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	resume := fmt.Sprintf("sessctl loop --resume %s", s.ID())
	switch {
	case errors.Is(err, core.ErrFenced):
		return cli.Hintf(err, "follow the session with: sessctl attach %s", s.ID())
	case err != nil:
		return cli.Hintf(err, "continue with: %s", resume)
	}
	a.Notef("session %s ended with %s; ask more with: %s TEXT", s.ID(), result.Reason, resume)
	return a.Print(loopResult{s.ID(), result.Reason, result.Text, result.Usage}, func() error {
		if out.shown {
			return nil
		}
		return a.Printf("%s", cli.PlainLines(result.Text))
	})
}

// readText reads what the agent is asked from standard input, if the arguments do not
// say it.
func (a app) readText(ctx context.Context, f *loopFlags) error {
	if f.resume != "" || f.text != "" {
		return nil
	}
	b, err := io.ReadAll(a.Input(ctx))
	if err != nil {
		return err
	}
	if f.text = strings.TrimSpace(string(b)); f.text == "" {
		return cli.Usagef("there is nothing to ask: give a TEXT, or standard input")
	}
	return nil
}

// loopSession finds the session of --resume and fills f with its settings. Without
// --resume, the id is empty.
func (a app) loopSession(ctx context.Context, f *loopFlags) (*client.Client, core.SessionID, error) {
	if f.resume == "" {
		node, err := a.Client()
		return node, "", err
	}
	node, id, err := a.InLog(ctx, f.resume)
	if err != nil {
		return nil, "", err
	}
	s, err := session.Open(ctx, node.Log(), id, session.Options{Access: session.ReadOnly})
	if err != nil {
		return nil, "", err
	}
	if name := s.Dialect().Name(); name != "openrath" {
		return nil, "", cli.Hintf(fmt.Errorf("session %s is one of %s, not of sessctl loop: %w", id, name, core.ErrInvalid), "sessctl resume %s", id)
	}
	var row struct{ Loop loopSettings }
	if es := s.Entries(); len(es) > 0 {
		_ = json.Unmarshal(es[0].Line, &row) // of another program's session, flags say it
	}
	f.Model, f.Image, f.Dir = cmp.Or(f.Model, row.Loop.Model), cmp.Or(f.Image, row.Loop.Image), cmp.Or(f.Dir, row.Loop.Dir)
	if f.Tools == nil {
		f.Tools = row.Loop.Tools
	}
	return node, id, nil
}

// openLoop takes a session over. Without an id, it makes one, whose first row has the
// system prompt.
func (a app) openLoop(ctx context.Context, log session.Log, id core.SessionID, f loopFlags) (*session.Session, error) {
	by, host := a.Caller()
	o := session.Options{Access: session.TakeOver, Agent: "sessctl loop", By: by, Host: host}
	if id != "" {
		return session.Open(ctx, log, id, o)
	}
	kept, err := json.Marshal(f.loopSettings)
	if err != nil {
		return nil, err
	}
	o.Dialect, o.ID = "openrath", loop.NewID()
	s, err := session.Create(ctx, log, f.Dir, o)
	if err != nil {
		return nil, err
	}
	line := openrath.SystemText(f.system).Line(0)
	line = fmt.Appendf(line[:len(line)-1], `, "loop": %s}`, kept)
	a.Notef("session %s", s.ID()) // to resume it if this host dies
	_, err = s.AppendLine(ctx, line)
	return s, err
}

// runLoop ends the run that the session is in, and then says text.
func runLoop(ctx context.Context, s *session.Session, c loop.Config, text string) (loop.Result, error) {
	l, err := loop.New(s, c)
	if err != nil {
		return loop.Result{}, err
	}
	asked := slices.ContainsFunc(l.Messages(), func(m loop.Message) bool { return m.Role == loop.User })
	if asked {
		result, err := l.Run(ctx)
		if err != nil || text == "" || result.Reason == loop.Closed {
			return result, err
		}
	} else if text == "" {
		return loop.Result{}, cli.Usagef("session %s was not asked anything yet: give a TEXT", s.ID())
	}
	if err := l.Say(ctx, text); err != nil {
		return loop.Result{}, err
	}
	return l.Run(ctx)
}
