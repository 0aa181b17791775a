package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func resumeCmd(a *app) *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume SESSION",
		Short: "Claim a session and write its agent's own file here",
		Long: `Claims a head and writes the file from which the session's agent goes on. A head
that another holds is left to them while they seem to be at work: a process that
has the claim was heard in the last 30 seconds, or the claim is no older than
that. From a holder that is silent, or of whom nothing is known, it is taken
over; --take-over takes it from anybody. The former holder is fenced at its next
write.

The file goes into --dir, or else where the agent looks for it (pi:
below $PI_CODING_AGENT_DIR or ~/.pi/agent; omp: the same, or ~/.omp/agent;
Operator: ~/.operator; OpenRath: $OPENRATH_HOME, ./.openrath or ~/.openrath;
Nova: ./.nova). Images that the file refers to are put where the agent keeps
them.

The file appears whole and durable, or not at all. One that is there already is
replaced only if every line of it is in the log, or with --force; whether that
is so is looked at before anything is claimed.

With -o json: one object with id, path, head, writer, epoch, seq (the cursor),
former (the claim that this one ended) and life (what was known of its holder:
state, seen, host).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := core.CheckHead(f.head); err != nil {
				return err
			}
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			return a.resume(ctx, args[0], f)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.dir, "dir", "", "write the file into `DIR`, which is made if it is not there")
	cmd.Flags().StringVar(&f.images, "images", "", "the `DIR` where the agent looks for images that its files refer to (default: where the agent has it)")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace a file that is there already, whatever it holds")
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "claim it also from another who seems to be at work")
	return cmd
}

type resumeFlags struct {
	claimFlags
	dir    string
	images string
	force  bool
}

// resumed is what resume says.
type resumed struct {
	ID     core.SessionID `json:"id"`
	Path   string         `json:"path"`
	Head   string         `json:"head"`
	Writer string         `json:"writer"`
	Epoch  uint64         `json:"epoch"`
	Cursor core.Cursor    `json:"seq"`
	Former *core.Claim    `json:"former,omitempty"`
	Life   *api.Life      `json:"life,omitempty"` // of the former
}

func (a *app) resume(ctx context.Context, arg string, f resumeFlags) error {
	node, id, err := a.inLog(ctx, arg)
	if err != nil {
		return err
	}
	info, err := node.Info(ctx, string(id))
	if err != nil {
		return err
	}
	if f.agent == "" {
		f.agent = info.Log.Dialect
	}
	mine, _, err := a.claims().load(id, f.head)
	if err != nil {
		return err
	}
	var life *api.Life
	if f.claimFlags, life, err = a.askFirst(ctx, node, id, f.claimFlags, mine.Writer); err != nil {
		return err
	}
	// Nobody is fenced for the sake of a file that then cannot be written.
	if _, err := a.writeAgentFile(ctx, node, id, info.Log.Dialect, f, true); err != nil {
		return err
	}
	c, err := a.takeClaim(ctx, node, id, f.claimFlags)
	if errors.Is(err, core.ErrFenced) { // somebody claimed it meanwhile
		return hintf(err, "take it over with: sessctl resume --take-over%s %s", headArg(f.head), id)
	}
	if err != nil {
		return err
	}
	if c.Former == nil {
		life = nil
	}
	a.remember(id, c, "")
	file, err := a.writeAgentFile(ctx, node, id, info.Log.Dialect, f, false)
	if err != nil {
		return err
	}
	a.remember(id, c, file.path)
	if err := a.placeImages(ctx, node, file.path, info.Log.Dialect, f.images); err != nil {
		return err
	}
	out := resumed{id, file.path, c.Head, c.Writer, c.Epoch, file.cursor, c.Former, life}
	return a.print(out, func() error {
		if err := a.printf("%s", plain(file.path)); err != nil {
			return err
		}
		if err := a.printf("  head %s of %s is held, by writer %s, epoch %d", c.Head, id, c.Writer, c.Epoch); err != nil {
			return err
		}
		return a.printFenced(c.Former, mine.Writer, life)
	})
}

// agentFile is a file that an agent can go on from.
type agentFile struct {
	path   string
	cursor core.Cursor
}

// writeAgentFile writes the file, or with dry finds out whether it could.
func (a *app) writeAgentFile(ctx context.Context, node *api.Client, id core.SessionID, dialect string, f resumeFlags, dry bool) (agentFile, error) {
	body, place, err := node.File(ctx, string(id), f.head)
	if err != nil {
		return agentFile{}, err
	}
	defer body.Close()
	dir, err := a.agentDir(dialect, f.dir, place)
	if err != nil {
		return agentFile{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return agentFile{}, err
	}
	file := agentFile{filepath.Join(dir, place.Name), place.Cursor}
	if err := makeDir(dir); err != nil {
		return file, err
	}
	d, err := newDraft(file.path)
	if err != nil {
		return file, err
	}
	defer d.discard()
	if err := replaceable(file.path); err != nil {
		return file, err
	}
	there := fileExists(file.path)
	if dry && (f.force || !there) {
		return file, nil
	}
	w := bufio.NewWriterSize(d, 1<<20)
	if _, err := io.Copy(w, answer{body}); err != nil {
		return file, err
	}
	if err := w.Flush(); err != nil {
		return file, err
	}
	if there && !f.force {
		if err := losesNothing(d.Name(), file.path); err != nil {
			return file, err
		}
	}
	if dry {
		return file, nil
	}
	return file, d.keep(there || f.force)
}

func losesNothing(fresh, old string) error {
	all, err := holdsAll(fresh, old)
	if err != nil || all {
		return err
	}
	return hintf(fmt.Errorf("%s is there already and holds lines that the log does not have%w", old, silent{fs.ErrExist}),
		"bring them in with: sessctl import %s, or replace the file with: --force", old)
}

// replaceable returns an error if something is at path that is no plain file.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is there already and is no plain file%w", path, silent{fs.ErrExist})
	}
	return nil
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// agentDir returns where the file goes. What the node says of it is checked:
// it names a file in that place and none elsewhere.
func (a *app) agentDir(dialect, dir string, place api.Place) (string, error) {
	if place.Name != filepath.Base(place.Name) || !filepath.IsLocal(place.Name) || place.Name == "." || strings.ContainsAny(place.Name, `/\`) {
		return "", fmt.Errorf("the node says that the file is called %q, which is no file's name%w", place.Name, silent{core.ErrInvalid})
	}
	if dir != "" {
		return dir, nil
	}
	root, flat, err := a.agentRoot(dialect)
	if err != nil {
		return "", err
	}
	if place.Dir == "" || flat {
		return root, nil
	}
	if !filepath.IsLocal(place.Dir) {
		return "", fmt.Errorf("the node says that the file is in %q, which is not below the agent's directory%w", place.Dir, silent{core.ErrInvalid})
	}
	return filepath.Join(root, place.Dir), nil
}
