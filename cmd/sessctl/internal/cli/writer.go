package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

// WriterFlags select the head and the claim of a write.
type WriterFlags struct {
	Head    string
	Writer  string
	noClaim bool
}

// Add adds the flags to cmd.
func (w *WriterFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.Head, "head", core.MainHead, "write to the head `NAME`")
	w.AddClaim(cmd)
}

// AddClaim adds the flags of the claim to cmd, without --head.
func (w *WriterFlags) AddClaim(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.Writer, "writer", "", "write with the claim of the writer `ID` (SESS_WRITER; default the claim that this host remembers)")
	cmd.Flags().BoolVar(&w.noClaim, "no-claim", false, "write without a claim, even if this host remembers one")
}

// Check validates the flags.
func (w *WriterFlags) Check() error {
	if w.noClaim && w.Writer != "" {
		return Usagef("--writer and --no-claim exclude each other")
	}
	return core.CheckHead(w.Head)
}

// A writer is the claim under which a verb writes.
type writer struct {
	session    core.SessionID
	head       string
	Writer     string // empty for none
	remembered bool   // by this host, rather than named by the user
}

// Writer returns the claim for a write to the head of session id.
func (a *App) Writer(ctx context.Context, node *client.Client, id core.SessionID, f WriterFlags) (writer, error) {
	w := writer{session: id, head: f.Head}
	if f.noClaim {
		return w, nil
	}
	if w.Writer = cmp.Or(f.Writer, a.Env("SESS_WRITER")); w.Writer != "" {
		return w, nil
	}
	c, ok, err := a.Claims().Load(id, f.Head)
	if err != nil || !ok {
		return w, err
	}
	if isForeign(ctx, node, c) {
		return w, a.Claims().Forget(id, f.Head, c.Writer)
	}
	w.Writer, w.remembered = c.Writer, true
	return w, nil
}

// isForeign reports whether the log that node serves never granted c: it does not
// have the session, or fewer claims on it. Then c was granted by another log, in
// which the session has the same ID.
func isForeign(ctx context.Context, node *client.Client, c agent.StoredClaim) bool {
	info, err := node.Info(ctx, string(c.Session))
	if err != nil {
		return errors.Is(err, core.ErrNotFound)
	}
	return info.Log.Epoch < c.Epoch
}

// ExplainFenced adds a hint to the error of a write with the claim w. If the error
// shows that a remembered claim ended, the host forgets it.
func (a *App) ExplainFenced(w writer, err error) error {
	if !errors.Is(err, core.ErrFenced) {
		return err
	}
	holder := agent.HolderOf(err)
	if !w.remembered {
		if holder == nil {
			return err
		}
		return Hintf(err, "take it over with: sessctl claim --take-over%s %s, or, if its agent has branches, write to a separate head with: --head NAME", agent.HeadFlag(w.head), w.session)
	}
	if e := a.Claims().Forget(w.session, w.head, w.Writer); e != nil {
		a.Notef("%v", e)
	}
	if holder == nil {
		return Hintf(fmt.Errorf("the claim of this host on head %q ended, and no writer holds it now%w", w.head, hint.Silent(err)),
			"retry without a claim, or claim it again with: sessctl claim%s %s", agent.HeadFlag(w.head), w.session)
	}
	return Hintf(fmt.Errorf("the claim of this host on head %q ended: it is held now by %s%w", w.head, holder, hint.Silent(err)),
		"take it back with: sessctl resume%s %s, or: sessctl claim --take-over%s %s", agent.HeadFlag(w.head), w.session, agent.HeadFlag(w.head), w.session)
}
