package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api"
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

// A voice is the claim that a write speaks from.
type voice struct {
	session core.SessionID
	head    string
	writer  string // empty for none
	memory  bool   // it was remembered rather than given
}

// voice returns the claim that a write to the head of session id speaks from.
func (a *app) voice(ctx context.Context, node *api.Client, id core.SessionID, w writerFlags) (voice, error) {
	v := voice{session: id, head: w.head}
	if w.noClaim {
		return v, nil
	}
	if v.writer = cmp.Or(w.writer, a.env("SESS_WRITER")); v.writer != "" {
		return v, nil
	}
	h, ok, err := a.claims().Load(id, w.head)
	if err != nil || !ok {
		return v, err
	}
	if strange(ctx, node, h) {
		return v, a.claims().Forget(id, w.head, h.Writer)
	}
	v.writer, v.memory = h.Writer, true
	return v, nil
}

// strange reports whether h was never granted by the log that node serves: that
// log has the session not at all, or has had fewer claims on it. Then the
// memory is of another log, in which the session has the same id.
func strange(ctx context.Context, node *api.Client, h agent.StoredClaim) bool {
	info, err := node.Info(ctx, string(h.Session))
	if err != nil {
		return errors.Is(err, core.ErrNotFound)
	}
	return info.Log.Epoch < h.Epoch
}

// heard looks at what became of a write that v spoke. When a remembered claim
// is over, the memory of it goes, and the error says how to go on.
func (a *app) heard(v voice, err error) error {
	if !errors.Is(err, core.ErrFenced) {
		return err
	}
	holder := agent.HolderOf(err)
	if !v.memory {
		if holder == nil {
			return err
		}
		return hintf(err, "take it over with: sessctl claim --take-over%s %s, or write to a head of your own with: --head NAME", headArg(v.head), v.session)
	}
	if e := a.claims().Forget(v.session, v.head, v.writer); e != nil {
		a.notef("%v", e)
	}
	if holder == nil {
		return hintf(fmt.Errorf("the claim that this host remembered on head %q is over, and nobody holds it now%w", v.head, hint.Silent(err)),
			"write again, now without a claim, or claim it anew with: sessctl claim%s %s", headArg(v.head), v.session)
	}
	return hintf(fmt.Errorf("the claim that this host remembered on head %q is over, it is held now by %s%w", v.head, holder, hint.Silent(err)),
		"take it back with: sessctl resume%s %s, or: sessctl claim --take-over%s %s", headArg(v.head), v.session, headArg(v.head), v.session)
}

// headArg is the flag that names head, where it has to be named.
func headArg(head string) string {
	if head == "" || head == core.MainHead {
		return ""
	}
	return " --head " + head
}
