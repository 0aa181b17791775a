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
		Short: "Continue a session here: claim it and write its file",
		Long: `Claims a head and writes the file from which the session's agent continues. After
two dashes comes the agent's command: resume starts it on that file, in the
session's directory, and follows it as sessctl run does.

If another writer holds the head and seems to be active, resume fails: the holder
sent a heartbeat in the last 30 seconds, or its claim is that new. Otherwise
resume takes the head over; --take-over does so in any case. The former holder is
fenced at its next write.

If sessctl run or sessctl watch on this host holds the claim for an agent, resume
continues with it after the agent has ended. While the agent runs, resume fails
and names its process; the same applies to a file that an agent has open. Agents
that sessctl run did not start are only detected on Linux, and only pi and omp:
they count as ended if no process of that name is left, except those that sessctl
run started for other sessions. A head that a node claimed for an agent counts as
held by another host, because hosts may share a name.

The session continues in the directory of --cwd. Without --cwd it is the first of:
the directory that paths in ~/.config/sesslog/sessctl.yaml maps it to; the
original directory, if it exists; the same place in the git repository of the
current directory, if a part of the original path, or a remote, has the
repository's name. If it is not the original directory, resume says which one and
why. Each row of paths is one directory as different hosts name it. The longest
match wins, and in its row the first directory that exists. All hosts can share
the file:

    paths:
      - [/home/ann/src, /Users/ann/code, ~/work]

The file is written to --dir, or where the agent looks for it (pi:
$PI_CODING_AGENT_DIR or ~/.pi/agent; omp: the same variable, or ~/.omp/agent;
Operator: ~/.operator; OpenRath: $OPENRATH_HOME, .openrath in the session's
directory, or ~/.openrath; Nova: .nova there). Images that the file refers to are
written to the agent's place for them. Files are written atomically, and a file
that is replaced keeps its mode.

If the session's file exists, it is replaced. Lines of it that the log lacks are
first appended: to the file's head, or if the session diverged, to a separate
head. resume then shows the lines and how to continue from them. A file with lines
that are not entries is also kept, under another name. A file that contradicts
the log is an error; with --force it is kept under another name and not imported.
resume checks all this before it claims the head.

--dry-run shows what would be done and who holds the head.

With -o json: one object with id, path, head, writer, epoch, seq (the cursor), cwd
(from, cwd, why, gone), former (the claim that this one replaced), life (of its
holder: state, seen, host), and if there was another file: lacked (lines, torn),
brought (head: where the lines are), aside (where the file is). With --dry-run
there is no writer and no epoch; dryRun is true, and holder and life describe the
holder of the head.`,
		Example: `sessctl resume 019a -- pi
sessctl resume 019a --dry-run`,
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
	cmd.Flags().StringVar(&f.dir, "dir", "", "write the file to `DIR`, which is created if it does not exist")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "continue in this `DIR` (default: see above)")
	cmd.Flags().StringVar(&f.images, "images", "", "the `DIR` for the images that the agent's files refer to (default: the agent's own)")
	cmd.Flags().BoolVar(&f.force, "force", false, "keep an existing file under another name, whatever it contains")
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "take the head also from an active holder")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "show what would be done, but do nothing")
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
