package main

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
)

func retentionCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retention",
		Short: "Clean up by policy: first a plan, then what it says",
		Long: `Says which sessions go by a policy, and does it: plan lists them, apply does
exactly what a plan says. Sessions go to the trash, from where sessctl rm --undo
takes each out again; only those whose time in the trash is over are erased, where
the policy asks for it.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usagef("say what to do: plan, or apply") },
	}
	cmd.AddCommand(retentionPlanCmd(a), retentionApplyCmd(a))
	return cmd
}

func retentionPlanCmd(a *app) *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "List what would go, and why",
		Long: `Lists the sessions that a policy lets go, and why, and keeps the plan under its
id on this host. Nothing is done. The policy is one rule made of the flags, or the
rules of a file in YAML:

  erase_trash: true       # what is in the trash for longer than trash.window
  rules:
    - name: old
      older_than: 90d     # not changed for so long
      unless_tag: keep
    - name: busy folders
      keep: 100           # of each folder, those that were changed last stay
      per: cwd            # or dialect; without it, of all
    - name: huge
      dialect: pi         # cwd, dialect and tag say which sessions it is about
      larger_than: 256MiB

A session goes when one of a rule's limits says so. One that is held stays, and so
does one that a writer has claimed. A plan has up to 10,000 sessions.

With -o json: the plan: id, log, made, policy, items (session, seq, do: delete or
erase, why, last) and more.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.policy()
			if err != nil {
				return err
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.retentionPlan(ctx, p)
		},
	}
	cmd.Flags().StringVar(&f.file, "policy", "", "the policy in `FILE`, in place of the other flags")
	cmd.Flags().StringVar(&f.OlderThan, "older-than", "", "those not changed for this `TIME`, such as 24h or 90d")
	cmd.Flags().StringVar(&f.LargerThan, "larger-than", "", "those larger than this `SIZE`, such as 256MiB")
	cmd.Flags().IntVar(&f.Keep, "keep", 0, "those that are not among the `N` changed last")
	cmd.Flags().StringVar(&f.Per, "per", "", "let --keep count for each `WHAT`: cwd or dialect")
	cmd.Flags().StringVar(&f.CWD, "cwd", "", "only sessions of the directory `DIR`, as their agent wrote it")
	cmd.Flags().StringVar(&f.Dialect, "dialect", "", "only sessions of the agent `NAME`")
	cmd.Flags().StringVar(&f.Tag, "tag", "", "only sessions with this `TAG`")
	cmd.Flags().StringVar(&f.UnlessTag, "unless-tag", "", "only sessions without this `TAG`")
	cmd.Flags().BoolVar(&f.eraseTrash, "erase-trash", false, "erase the sessions whose time in the trash is over")
	return cmd
}

func retentionApplyCmd(a *app) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Do what a plan says",
		Long: `Does exactly what a plan says: PLAN is the id that plan printed, on the same host,
or a file with what it printed with -o json. A session that has changed since, is
held, or is at work is left alone, and it is said why.

With -o json: one object with plan, done (how many) and outcomes: the items of the
plan with done (true or false) and left, which says why.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(why) == "" {
				return usagef("say the reason with --why TEXT, the log keeps it")
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.retentionApply(ctx, args[0], why)
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

type planFlags struct {
	policyRule
	file       string
	eraseTrash bool
}

func (f *planFlags) policy() (api.Policy, error) {
	none := policyRule{}
	if f.file == "" {
		written := policyFile{EraseTrash: f.eraseTrash}
		if f.policyRule != none {
			written.Rules = []policyRule{f.policyRule}
		}
		return written.policy()
	}
	if f.policyRule != none || f.eraseTrash {
		return api.Policy{}, usagef("--policy is in place of the other flags")
	}
	b, err := os.ReadFile(f.file)
	if err != nil {
		return api.Policy{}, err
	}
	return readPolicy(b)
}

func (a *app) retentionPlan(ctx context.Context, p api.Policy) error {
	node, err := a.client()
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
	return a.print(plan, func() error { return a.printPlan(plan) })
}

func (a *app) printPlan(plan api.Plan) error {
	if len(plan.Items) == 0 {
		a.notef("no session has to go")
		return nil
	}
	g := a.newGrid()
	g.add("ID", "CHANGED", "DO", "WHY")
	for _, it := range plan.Items {
		g.add(string(it.Session), a.when(it.Last), it.Do, it.Why)
	}
	if err := g.flush(); err != nil {
		return err
	}
	if plan.More {
		a.notef("there are more: plan again when this is done")
	}
	a.notef("nothing was done yet, do it with: sessctl retention apply %s --why TEXT", plan.ID)
	return nil
}

// planPath is where the plan of that id is kept.
func (a *app) planPath(id string) string {
	return filepath.Join(filepath.Dir(a.claims().dir), "plans", id+".json")
}

// savePlan keeps a plan for apply, whole or not at all. Those made more than a week ago go.
func (a *app) savePlan(plan api.Plan) error {
	if a.claims().dir == "" {
		a.notef("there is no home to keep the plan in; keep it in a file with: -o json")
		return nil
	}
	b, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	path := a.planPath(plan.ID)
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	old, _ := filepath.Glob(a.planPath("*"))
	for _, name := range old {
		if info, err := os.Stat(name); err == nil && a.now().Sub(info.ModTime()) > 7*24*time.Hour {
			_ = os.Remove(name) // the next plan tries again
		}
	}
	return writeFile(path, true, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func (a *app) readPlan(arg string) (api.Plan, error) {
	var plan api.Plan
	path := arg
	if !strings.ContainsAny(arg, "./") {
		path = a.planPath(arg)
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return plan, hintf(fmt.Errorf("there is no plan %s%w", arg, silent{fs.ErrNotExist}), "make one with: sessctl retention plan")
	}
	if err != nil {
		return plan, hintf(fmt.Errorf("no plan %s: %w", arg, err), "make one with: sessctl retention plan")
	}
	if err := json.Unmarshal(b, &plan); err != nil {
		return plan, usagef("%s is no plan: %v", arg, err)
	}
	return plan, nil
}

func (a *app) retentionApply(ctx context.Context, arg, why string) error {
	plan, err := a.readPlan(arg)
	if err != nil {
		return err
	}
	node, err := a.client()
	if err != nil {
		return err
	}
	out, err := node.Apply(ctx, api.ApplyRequest{Notice: a.notice(why), Plan: plan})
	if err != nil {
		return err
	}
	return a.print(out, func() error {
		g := a.newGrid()
		for _, o := range out.Outcomes {
			state := o.Do + "d"
			if !o.Done {
				state = "left alone: " + o.Left
			}
			g.add(string(o.Session), state)
		}
		if err := g.flush(); err != nil {
			return err
		}
		a.notef("%d of %s done", out.Done, count(len(out.Outcomes), "session", "sessions"))
		return nil
	})
}
