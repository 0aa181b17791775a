package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func resumeCmd(a *app) *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume SESSION [-- AGENT ARG...]",
		Short: "Go on with a session here: claim it and write its agent's own file",
		Long: `Claims a head and writes the file from which the session's agent goes on there.
Behind two dashes stands the agent as you would start it; it is started on that
file, in the directory where the session goes on, and followed as by sessctl run.

A head that another holds is left to them while they seem to be at work: a
process that has the claim was heard in the last 30 seconds, or the claim is no
older than that. From a holder that is silent, or of whom nothing is known, it
is taken over; --take-over takes it from anybody. The former holder is fenced at
its next write.

What sessctl run or sessctl watch on this host claimed for an agent is gone on
with unasked once that agent has ended. While it runs it keeps the head, and its
process is named; so it is with a file that an agent has open. Of agents without
sessctl run that is known on Linux, and of pi and omp alone: they have ended when
no process of that name is left, wherever it runs, but those that sessctl run
knows to work with other sessions. A head that a node claimed for an agent is
left to it as on any other host: hosts may have one name.

The session goes on in the directory that --cwd names; else in the one that
paths in ~/.config/sesslog/sessctl.yaml says is the same; else in the one where
it was, if that is here; else, if the current directory is in a git repository
that is called as a part of that path, or has a remote that is, in the same place
of that repository. Unless it is where it was, it is said where and why. A row of
paths is one directory, as each host has it; the longest that fits counts, and of
its row the first that is here. The same file does for all hosts:

    paths:
      - [/home/ann/src, /Users/ann/code, ~/work]

The file goes into --dir, or else where the agent looks for it (pi:
below $PI_CODING_AGENT_DIR or ~/.pi/agent; omp: the same, or ~/.omp/agent;
Operator: ~/.operator; OpenRath: $OPENRATH_HOME, .openrath where the session goes
on, or ~/.openrath; Nova: .nova there). Images that the file refers to are put
where the agent keeps them. The file appears whole and durable, or not at all,
and one that it replaces leaves it its mode.

A file of the session that is there already is replaced. Lines of it that the log
lacks go into the log first: behind the head that the file was for, or where the
session went on without them, on a head of their own. Either way it is said which
they are, and how to go on with them. A file with lines that are no entries is
also kept, under another name; one that contradicts the log is not touched, unless
--force is given: then it is kept under another name, and nothing of it is brought
into the log. All that is looked at before anything is claimed.

--dry-run says what would be done, and who holds the head, and does nothing.

With -o json: one object with id, path, head, writer, epoch, seq (the cursor), cwd
(from, cwd, why, gone), former (the claim that this one ended), life (what was known
of its holder: state, seen, host), and where there was another file: lacked (lines,
torn), brought (head: where the lines are), aside (where the file is). With
--dry-run there is no writer and no epoch; dryRun is true, and holder and life tell
who holds the head.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				f.agentArgs = args[at:]
				if args = args[:at]; len(f.agentArgs) == 0 {
					return usagef("say what to run behind the two dashes: sessctl resume SESSION -- AGENT ARG...")
				}
			}
			if len(args) > 1 && len(f.agentArgs) == 0 {
				return usagef("put two dashes in front of the agent: sessctl resume %.128q -- %.128q", args[0], args[1])
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := core.CheckHead(f.head); err != nil {
				return err
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			file, err := a.resume(ctx, args[0], f)
			if err != nil || f.dry {
				return err
			}
			if len(f.agentArgs) == 0 {
				a.noteNext(file)
				return nil
			}
			return a.resumeAgent(cmd.Context(), f.agentArgs, file)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.dir, "dir", "", "write the file into `DIR`, which is made if it is not there")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "go on in the `DIR` of this host (default: see above)")
	cmd.Flags().StringVar(&f.images, "images", "", "the `DIR` where the agent looks for images that its files refer to (default: where the agent has it)")
	cmd.Flags().BoolVar(&f.force, "force", false, "put a file that is there already aside, whatever it holds")
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "claim it also from another who seems to be at work")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "say what would be done, and do nothing")
	return cmd
}

type resumeFlags struct {
	claimFlags
	dir       string
	cwd       string
	images    string
	force     bool
	dry       bool
	agentArgs []string
}

// resumed is what resume says.
type resumed struct {
	ID      core.SessionID `json:"id"`
	Path    string         `json:"path"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer,omitempty"`
	Epoch   uint64         `json:"epoch,omitempty"`
	Cursor  core.Cursor    `json:"seq"`
	Place   *workplace     `json:"cwd,omitempty"`
	Former  *core.Claim    `json:"former,omitempty"`
	Holder  *core.Claim    `json:"holder,omitempty"`
	Life    *api.Life      `json:"life,omitempty"` // of the former, or of the holder
	Lacked  *surplus       `json:"lacked,omitempty"`
	Brought *broughtIn     `json:"brought,omitempty"`
	Aside   string         `json:"aside,omitempty"`
	DryRun  bool           `json:"dryRun,omitempty"`

	mine string // the writer that this host had before
	left error  // why it would not be done unasked
}

// broughtIn is where the lines are that the log lacked.
type broughtIn struct {
	Head string `json:"head"`
}

func (a *app) resume(ctx context.Context, arg string, f resumeFlags) (*agentFile, error) {
	node, id, err := a.inLog(ctx, arg)
	if err != nil {
		return nil, err
	}
	if f.dry {
		return nil, a.wouldResume(ctx, node, id, f)
	}
	return a.resumeIn(ctx, node, id, f)
}

func (a *app) resumeIn(ctx context.Context, node *api.Client, id core.SessionID, f resumeFlags) (*agentFile, error) {
	out := resumed{ID: id}
	mine, _, err := a.claims().load(id, f.head)
	if err != nil {
		return nil, err
	}
	out.mine = mine.Writer
	forced := f.takeOver
	var life *api.Life
	if f.claimFlags, life, err = a.askFirst(ctx, node, id, f.claimFlags, mine.Writer); err != nil {
		return nil, err
	}
	// Nobody is fenced for the sake of a file that then cannot be written: it is
	// written before, beside its place.
	file, g, err := a.prepare(ctx, node, id, f)
	if err != nil {
		return nil, err
	}
	defer func() {
		if file != nil {
			file.discard()
		}
	}()
	if !forced {
		if err := a.workedOn(file); err != nil {
			return nil, err
		}
	}
	if f.agent == "" {
		f.agent = file.agent
	}
	c, err := a.takeClaim(ctx, node, id, f.claimFlags)
	if errors.Is(err, core.ErrFenced) { // somebody claimed it meanwhile
		return nil, hintf(err, "take it over with: sessctl resume --take-over%s %s", headArg(f.head), id)
	}
	if err != nil {
		return nil, err
	}
	a.remember(id, c, file.path)
	if !g.none() {
		out.Lacked = &g
	}
	brings := len(g.Lines) > 0 && !f.force
	if brings {
		if out.Brought, err = a.bring(ctx, node, file, c.Writer, f.images); err != nil {
			return nil, err
		}
	}
	if brings || c.Seq != file.cursor.Seq+1 { // or something else came between
		file.discard()
		if file, err = a.again(ctx, node, id, f); err != nil {
			return nil, err
		}
	}
	if err := a.placeImages(ctx, node, file.Name(), file.agent, f.images); err != nil {
		return nil, err
	}
	if out.Aside, err = file.put(out.Lacked.kept(f.force), a.now()); err != nil {
		return nil, err
	}
	out.Path, out.Head, out.Writer, out.Epoch, out.Cursor, out.Former = file.path, c.Head, c.Writer, c.Epoch, file.cursor, c.Former
	if c.Former != nil {
		out.Life = life
	}
	file.claim = &c
	out.Place = file.where.told()
	a.noteWorkplace(file.where)
	return file, a.print(out, func() error { return a.printResumed(out) })
}

// prepare writes the file beside its place, and says what the file in that place
// has and the log has not.
func (a *app) prepare(ctx context.Context, node *api.Client, id core.SessionID, f resumeFlags) (*agentFile, surplus, error) {
	file, err := a.fetchFile(ctx, node, id, f)
	if err != nil {
		return nil, surplus{}, err
	}
	if file.where.Gone && len(f.agentArgs) > 0 {
		file.discard()
		return nil, surplus{}, hintf(fmt.Errorf("it worked in %s, which is not here%w", file.where.From, silent{fs.ErrNotExist}), "say where it goes on with: --cwd DIR")
	}
	g, err := a.surplus(ctx, node, id, file)
	if err == nil && !f.force {
		err = g.refused(file.path)
	}
	if err != nil {
		file.discard()
		return nil, g, err
	}
	return file, g, nil
}

// again is prepare once more, when the log has all that it can have.
func (a *app) again(ctx context.Context, node *api.Client, id core.SessionID, f resumeFlags) (*agentFile, error) {
	file, g, err := a.prepare(ctx, node, id, f)
	if err == nil && len(g.Lines) > 0 && !f.force {
		err = changed(file.path)
		file.discard()
		return nil, err
	}
	return file, err
}

// changed says that the file at path was written to since it was looked at.
func changed(path string) error {
	return hintf(fmt.Errorf("%s was written to meanwhile%w", path, silent{fs.ErrExist}), "end the agent that works with it and try again")
}

// bring brings the lines that the log lacks of the file that f replaces into the
// log, in the name of writer.
func (a *app) bring(ctx context.Context, node *api.Client, f *agentFile, writer, images string) (*broughtIn, error) {
	missing, store, err := a.bringImages(ctx, node, f.path, f.agent, images)
	if err != nil {
		return nil, err
	}
	a.noteImages(missing, store)
	r, size, err := openFile(f.path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	by, _ := a.whoami()
	done, err := node.Import(ctx, r, size, api.ImportOptions{Dialect: f.agent, Writer: writer, By: by, OnConflict: api.Branch})
	if err != nil {
		return nil, hintf(fmt.Errorf("%s has lines that the log lacks and that cannot be brought in: %w", f.path, err), asideHint, f.path)
	}
	b := &broughtIn{Head: core.MainHead}
	if done.Head != "" {
		b.Head = done.Head
	}
	return b, nil
}

const asideHint = "see what it has with: sessctl entries %s, and put it aside with: --force"

// refused returns why the file at path is not to be touched unasked, or nil.
func (g surplus) refused(path string) error {
	if g.contradicts == nil {
		return nil
	}
	return hintf(fmt.Errorf("%s is there already: %w%w", path, g.contradicts, silent{fs.ErrExist}), asideHint, path)
}

// kept reports whether the file stays under another name.
func (g *surplus) kept(force bool) bool {
	return g != nil && (force || len(g.Torn) > 0)
}

// wouldResume says what resume would do.
func (a *app) wouldResume(ctx context.Context, node *api.Client, id core.SessionID, f resumeFlags) error {
	out := resumed{ID: id, Head: f.head, DryRun: true}
	mine, _, err := a.claims().load(id, f.head)
	if err != nil {
		return err
	}
	_, _, out.left = a.askFirst(ctx, node, id, f.claimFlags, mine.Writer)
	if out.left != nil && !errors.Is(out.left, core.ErrFenced) {
		return out.left
	}
	hs, err := node.Heads(ctx, string(id))
	if err != nil {
		return err
	}
	for _, h := range hs.Heads {
		if h.Head == f.head {
			out.Holder, out.Life = h.Claim, h.Life
		}
	}
	file, g, err := a.prepare(ctx, node, id, f)
	if err != nil {
		return err
	}
	defer file.discard()
	if out.left == nil && !f.takeOver {
		out.left = a.workedOn(file)
	}
	if !g.none() {
		out.Lacked = &g
	}
	out.Path, out.Cursor, out.Place = file.path, file.cursor, file.where.told()
	a.noteWorkplace(file.where)
	return a.print(out, func() error { return a.printWouldResume(out, f) })
}
