package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/atomicfile"
	"github.com/sesslog/sesslog/internal/hint"
)

func retentionCmd(a app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "Clean up by policy: plan, then apply",
		Long: `Moves sessions to the trash by a policy: plan lists them, apply does exactly what
a plan says. sessctl rm --undo restores each from the trash. Sessions are only
erased if the policy asks for it, after their time in the trash.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return cli.Usagef("no verb given: plan or apply") },
	}
	cmd.AddCommand(retentionPlanCmd(a), retentionApplyCmd(a))
	return cmd
}

func retentionPlanCmd(a app) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "List the sessions that a policy would remove, and why",
		Long: `Lists the sessions that a policy removes, with the reason, and keeps the plan
under its id on this host. It changes nothing. The policy is one rule from the
flags, or the rules of a YAML file:

    erase_trash: true       # after trash.window in the trash
    rules:
      - name: old
        older_than: 90d     # not modified for so long
        unless_tag: keep
      - name: busy folders
        keep: 100           # of each folder, those that were modified last
        per: cwd            # or dialect; without it, of all
      - name: huge
        dialect: pi         # cwd, dialect and tag select sessions
        larger_than: 256MiB

A session is removed if one limit of a rule matches. Messages modify a session;
labels, names and settings do not. Sessions on hold, and sessions that a writer has
claimed, are kept. A plan has up to 10,000 sessions.

With -o json: the plan: id, log, made, policy, items (session, seq, do: delete or
erase, why, last) and more.`,
		Example: `sessctl retention plan --older-than 90d --unless-tag keep
sessctl retention plan --policy policy.yaml -o json >plan.json`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Forever, func(ctx context.Context, _ []string) error {
			p, err := f.policy()
			if err != nil {
				return err
			}
			return a.retentionPlan(ctx, p)
		}),
	}
	cmd.Flags().StringVar(&f.file, "policy", "", "read the policy from `FILE` instead of the other flags")
	cmd.Flags().StringVar(&f.OlderThan, "older-than", "", "sessions not modified for this `TIME`, such as 24h or 90d")
	cmd.Flags().StringVar(&f.LargerThan, "larger-than", "", "sessions larger than this `SIZE`, such as 256MiB")
	cmd.Flags().IntVar(&f.Keep, "keep", 0, "sessions beyond the newest `N`")
	cmd.Flags().StringVar(&f.Per, "per", "", "apply --keep to each `GROUP`: cwd or dialect")
	cmd.Flags().StringVar(&f.CWD, "cwd", "", "only sessions of the directory `DIR`, as their agent wrote it")
	cmd.Flags().StringVar(&f.Dialect, "dialect", "", "only sessions of the agent `NAME`")
	cmd.Flags().StringVar(&f.Tag, "tag", "", "only sessions with this `TAG`")
	cmd.Flags().StringVar(&f.UnlessTag, "unless-tag", "", "only sessions without this `TAG`")
	cmd.Flags().BoolVar(&f.eraseTrash, "erase-trash", false, "also erase sessions whose time in the trash has passed")
	return cmd
}

func retentionApplyCmd(a app) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Apply a plan",
		Long: `Does exactly what a plan says. PLAN is the id that plan printed on this host, or a
file with the output of plan -o json. A session that changed since, is on hold, or
is in use is kept, and the output says why; then the exit code is 5.

With -o json: one object with plan, done (how many) and outcomes: the items of the
plan with done (true or false) and left, which says why.`,
		Example: "sessctl retention apply plan.json",
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if strings.TrimSpace(why) == "" {
				return cli.Usagef("--why is missing: the reason, which the log stores")
			}
			return a.retentionApply(ctx, args[0], why)
		}),
	}
	cli.WhyFlag(cmd, &why)
	return cmd
}

type planFlags struct {
	policyRule
	file       string
	eraseTrash bool
}

func (f *planFlags) policy() (report.Policy, error) {
	none := policyRule{}
	var err error
	if f.CWD, err = cli.Directory(f.CWD); err != nil {
		return report.Policy{}, err
	}
	if f.file == "" {
		written := policyFile{EraseTrash: f.eraseTrash}
		if f.policyRule != none {
			written.Rules = []policyRule{f.policyRule}
		}
		return written.policy()
	}
	if f.policyRule != none || f.eraseTrash {
		return report.Policy{}, cli.Usagef("--policy excludes the other flags")
	}
	b, err := os.ReadFile(f.file)
	if err != nil {
		return report.Policy{}, err
	}
	return readPolicy(b)
}

func (a app) retentionPlan(ctx context.Context, p report.Policy) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	plan, err := node.Plan(ctx, p)
	if err != nil {
		return err
	}
	if err := a.savePlan(plan); err != nil {
		return err
	}
	return a.Print(plan, func() error { return a.printPlan(plan) })
}

func (a app) printPlan(plan report.Plan) error {
	if len(plan.Items) == 0 {
		a.Notef("no session matches")
		return nil
	}
	g := a.NewGrid()
	g.Row("ID", "CHANGED", "DO", "WHY")
	for _, it := range plan.Items {
		g.Row(string(it.Session), a.Time(it.Last), it.Do, it.Why)
	}
	if err := g.Flush(); err != nil {
		return err
	}
	if plan.More {
		a.Notef("there are more: plan again after applying this plan")
	}
	a.Notef("nothing was changed; to apply: sessctl retention apply %s --why TEXT", plan.ID)
	return nil
}

// planPath returns the path of the plan id.
func (a app) planPath(id string) string {
	return filepath.Join(filepath.Dir(a.Claims().Dir), "plans", id+".json")
}

// savePlan stores a plan for apply, and deletes those older than a week.
func (a app) savePlan(plan report.Plan) error {
	if a.Claims().Dir == "" {
		a.Notef("HOME is not set, so the plan is not stored; write it to a file with: -o json")
		return nil
	}
	b, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	path := a.planPath(plan.ID)
	if err := atomicfile.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	old, _ := filepath.Glob(a.planPath("*"))
	for _, name := range old {
		if info, err := os.Stat(name); err == nil && a.Now().Sub(info.ModTime()) > 7*24*time.Hour {
			_ = os.Remove(name) // the next plan tries again
		}
	}
	return atomicfile.Write(path, true, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func (a app) readPlan(arg string) (report.Plan, error) {
	var plan report.Plan
	path := arg
	if !strings.ContainsAny(arg, "./") {
		path = a.planPath(arg)
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return plan, cli.Hintf(fmt.Errorf("no such plan: %s%w", arg, hint.Silent(fs.ErrNotExist)), "make one with: sessctl retention plan")
	}
	if err != nil {
		return plan, cli.Hintf(fmt.Errorf("plan %s: %w", arg, err), "make one with: sessctl retention plan")
	}
	if err := json.Unmarshal(b, &plan); err != nil {
		return plan, cli.Usagef("%s is not a plan: %v", arg, err)
	}
	return plan, nil
}

func (a app) retentionApply(ctx context.Context, arg, why string) error {
	plan, err := a.readPlan(arg)
	if err != nil {
		return err
	}
	node, err := a.Client()
	if err != nil {
		return err
	}
	out, err := node.Apply(ctx, api.ApplyRequest{Notice: a.Notice(why), Plan: plan})
	if err != nil {
		return err
	}
	err = a.Print(out, func() error {
		g := a.NewGrid()
		for _, o := range out.Outcomes {
			state := o.Do + "d"
			if !o.Done {
				state = "left alone: " + o.Left
			}
			g.Row(string(o.Session), state)
		}
		if err := g.Flush(); err != nil {
			return err
		}
		a.Notef("%d of %s done", out.Done, cli.Count(len(out.Outcomes), "session", "sessions"))
		return nil
	})
	if err == nil && out.Done < len(out.Outcomes) {
		return cli.Reported{Exit: cli.ExitConflict}
	}
	return err
}
