package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

// The exit codes. sessctl help exit-codes documents them.
const (
	exitOK          = 0
	exitOther       = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitInvalid     = 4
	exitConflict    = 5
	exitFenced      = 6
	exitUnavailable = 7
	exitDamaged     = 8
	exitDeleted     = 9
	exitInterrupted = 130
)

// outcomes says what each error means here: the exit code, the code that -o
// json names, and what to do about it where the node's own advice speaks of
// HTTP. Where an error is several of them, the first counts.
var outcomes = []struct {
	err  error
	exit int
	code string
	next string
}{
	{core.ErrUncertain, exitUnavailable, "uncertain", "look whether it was done: sessctl info SESSION"},
	{core.ErrFenced, exitFenced, "fenced", "take the head over with: sessctl claim --take-over SESSION, or write to a head of your own with: --head NAME"},
	{core.ErrConflict, exitConflict, "conflict", ""},
	{core.ErrExists, exitConflict, "exists", ""},
	{core.ErrHeld, exitConflict, "held", "see who holds what with: sessctl hold"},
	{core.ErrDeleted, exitDeleted, "deleted", "if it is in the trash, take it out with: sessctl rm --undo SESSION"},
	{core.ErrTooNew, exitOther, "too-new", ""},
	{core.ErrTooLarge, exitInvalid, "too-large", ""},
	{core.ErrFull, exitUnavailable, "full", ""},
	{core.ErrInvalid, exitInvalid, "invalid", ""},
	{core.ErrNotFound, exitNotFound, "not-found", "see what there is with: sessctl ls, or in a session with: sessctl tree SESSION"},
	{api.ErrTooMany, exitUnavailable, "too-many", "wait a moment, or ask an admin for a token with higher limits"},
	{fs.ErrNotExist, exitNotFound, "not-found", ""},
	{fs.ErrExist, exitConflict, "exists", ""},
	{core.ErrCorrupt, exitDamaged, "corrupt", ""},
	{core.ErrLost, exitDamaged, "lost", ""},
	{core.ErrUnavailable, exitUnavailable, "unavailable", ""},
	{context.DeadlineExceeded, exitUnavailable, "unavailable", ""},
	{context.Canceled, exitInterrupted, "interrupted", ""},
}

// A usageError says that the command line is wrong.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(form string, args ...any) error { return &usageError{fmt.Sprintf(form, args...)} }

// hintf returns err with the command that helps, or nil if err is nil.
func hintf(err error, form string, args ...any) error { return hint.With(err, form, args...) }

// reported is an error that the user has seen already; only the code is left.
type reported struct{ exit int }

func (e reported) Error() string { return fmt.Sprintf("exit code %d", e.exit) }

// A report is an error as it is shown, and as -o json prints it.
type report struct {
	Code   string        `json:"code"`
	Detail string        `json:"detail"`
	Next   string        `json:"next,omitempty"`
	Line   int           `json:"line,omitempty"`
	Entry  string        `json:"entry,omitempty"`
	Head   string        `json:"head,omitempty"`
	Holder *core.Claim   `json:"holder,omitempty"`
	Life   *api.Life     `json:"life,omitempty"` // of the holder
	Cursor *core.Cursor  `json:"cursor,omitempty"`
	Since  []core.Change `json:"since,omitempty"` // what another wrote
	More   int           `json:"more,omitempty"`
	Exit   int           `json:"exit"`
}

// describe is the one place where errors become exit codes and advice. The
// node that was asked is the one at base.
func describe(err error, base string) report {
	r := report{Code: "error", Detail: err.Error(), Exit: exitOther}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			r.Code, r.Exit, r.Next = o.code, o.exit, o.next
			break
		}
	}
	r.Detail = strings.TrimSuffix(r.Detail, ": "+core.ErrInvalid.Error())
	r.fromNode(err)
	r.fromCore(err)
	r.fromNetwork(err, base)
	if _, ok := errors.AsType[*usageError](err); ok {
		r.Code, r.Exit = "usage", exitUsage
	}
	if errors.Is(err, agent.ErrUsage) {
		r.Code, r.Exit = "usage", exitUsage
	}
	if e, ok := errors.AsType[*process.StartError](err); ok {
		r.Code, r.Exit = "not-started", e.Code
	}
	if next, ok := hint.Of(err); ok {
		r.Next = next
	}
	return r
}

func (r *report) fromNode(err error) {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return
	}
	d := e.Detail
	r.Code, r.Line, r.Entry, r.Head, r.Holder, r.Life, r.Cursor = d.Code, d.Line, d.Entry, d.Head, d.Holder, d.Life, d.Cursor
	r.Since, r.More = d.Since, d.More
	if r.Next == "" && !errors.Is(err, core.ErrInvalid) { // which says it all
		r.Next = d.Next
	}
}

func (r *report) fromCore(err error) {
	if e, ok := errors.AsType[*core.LineError](err); ok {
		r.Line, r.Entry = e.Line, e.ID
	}
	if e, ok := errors.AsType[*core.FencedError](err); ok {
		r.Head, r.Holder = e.Head, e.Holder
	}
}

// fromNetwork says in our words that the node at base did not answer.
func (r *report) fromNetwork(err error, base string) {
	dial, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && dial.Op == "dial" && !errors.Is(err, context.Canceled):
		r.Code, r.Exit = "unavailable", exitUnavailable
		r.Detail = fmt.Sprintf("no node answers at %s: %s", base, lastCause(dial))
		r.Next = "start one with: sessnode, or name another with --url or SESS_URL"
	case errors.Is(err, context.DeadlineExceeded):
		r.Detail = "no answer in time from " + base + r.unknown()
		if r.Next == "" {
			r.Next = "see how it is with: sessctl status, or wait longer with: --timeout TIME"
		}
	case errors.Is(err, context.Canceled):
		r.Detail = "interrupted" + r.unknown()
	}
}

func (r *report) unknown() string {
	if r.Code == "uncertain" {
		return "; it may have been done or not"
	}
	return ""
}

// unanswered reports whether err came for want of an answer, so that the next
// request will hardly do better.
func unanswered(err error) bool {
	return errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain)
}

func lastCause(err *net.OpError) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "connection refused"
	}
	return err.Err.Error()
}

// show prints err as the failure of cmd and returns the exit code.
func (a *app) show(cmd *cobra.Command, err error) int {
	if done, ok := errors.AsType[reported](err); ok {
		return done.exit
	}
	base, _ := a.base()
	r := describe(err, base)
	verb := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "sessctl"), " ")
	if r.Exit == exitUsage && r.Next == "" {
		r.Next = strings.TrimSpace("sessctl help " + verb)
	}
	if a.format == asJSON {
		b, _ := json.Marshal(r)
		fmt.Fprintf(a.stderr, "%s\n", b)
		return r.Exit
	}
	if verb != "" {
		verb += ": "
	}
	fmt.Fprintf(a.stderr, "%s %s%s\n", a.stderr.paint(bad, "sessctl:"), verb, plain(r.Detail))
	if r.Next != "" {
		fmt.Fprintf(a.stderr, "next: %s\n", plain(r.Next))
	}
	return r.Exit
}

// finish returns the exit code that the run of cmd comes to. What failed
// before the verb began is a misuse.
func (a *app) finish(cmd *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	if !a.started {
		err = &usageError{err.Error()}
	}
	return a.show(cmd, err)
}
