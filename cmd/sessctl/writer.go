package main

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

// writerFlags say which head a verb writes to, and from which claim.
type writerFlags struct {
	head    string
	writer  string
	noClaim bool
}

func (w *writerFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.head, "head", core.MainHead, "write to the head `NAME`")
	w.addClaim(cmd)
}

func (w *writerFlags) addClaim(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.writer, "writer", "", "write with the claim of the writer `ID` (SESS_WRITER; default the claim that this host remembers)")
	cmd.Flags().BoolVar(&w.noClaim, "no-claim", false, "write without a claim, even if this host remembers one")
}

func (w *writerFlags) check() error {
	if w.noClaim && w.writer != "" {
		return usagef("--writer and --no-claim exclude each other")
	}
	return core.CheckHead(w.head)
}

// A writer is the claim under which a verb writes.
type writer struct {
	session    core.SessionID
	head       string
	writer     string // empty for none
	remembered bool   // by this host, rather than named by the user
}

// writer returns the claim for a write to the head of session id.
func (a *app) writer(ctx context.Context, node *client.Client, id core.SessionID, f writerFlags) (writer, error) {
	w := writer{session: id, head: f.head}
	if f.noClaim {
		return w, nil
	}
	if w.writer = cmp.Or(f.writer, a.env("SESS_WRITER")); w.writer != "" {
		return w, nil
	}
	c, ok, err := a.claims().Load(id, f.head)
	if err != nil || !ok {
		return w, err
	}
	if isForeign(ctx, node, c) {
		return w, a.claims().Forget(id, f.head, c.Writer)
	}
	w.writer, w.remembered = c.Writer, true
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

// explain adds a hint to the error of a write as w. If a remembered claim is over,
// it forgets that claim.
func (a *app) explain(w writer, err error) error {
	if !errors.Is(err, core.ErrFenced) {
		return err
	}
	holder := agent.HolderOf(err)
	if !w.remembered {
		if holder == nil {
			return err
		}
		return hintf(err, "take it over with: sessctl claim --take-over%s %s, or write to a head of your own with: --head NAME", headArg(w.head), w.session)
	}
	if e := a.claims().Forget(w.session, w.head, w.writer); e != nil {
		a.notef("%v", e)
	}
	if holder == nil {
		return hintf(fmt.Errorf("the claim that this host remembered on head %q is over, and no writer holds it now%w", w.head, hint.Silent(err)),
			"retry without a claim, or claim it again with: sessctl claim%s %s", headArg(w.head), w.session)
	}
	return hintf(fmt.Errorf("the claim that this host remembered on head %q is over, it is held now by %s%w", w.head, holder, hint.Silent(err)),
		"take it back with: sessctl resume%s %s, or: sessctl claim --take-over%s %s", headArg(w.head), w.session, headArg(w.head), w.session)
}

// headArg is the flag that names head, where it has to be named.
func headArg(head string) string {
	if head == "" || head == core.MainHead {
		return ""
	}
	return " --head " + head
}
