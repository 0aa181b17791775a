package cli

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
	"github.com/sesslog/sesslog/session"
)

// The exit codes, which sessctl help exit-codes documents.
const (
	ExitOK          = 0
	ExitOther       = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitInvalid     = 4
	ExitConflict    = 5
	ExitFenced      = 6
	ExitUnavailable = 7
	ExitDamaged     = 8
	ExitDeleted     = 9
	exitInterrupted = 130
)

// Outcomes says what each error means here: the exit code, the code that -o
// json names, and what to do about it where the node's own advice speaks of
// HTTP. Where an error is several of them, the first counts.
var Outcomes = []struct {
	err  error
	Exit int
	Code string
	next string
}{
	{core.ErrUncertain, ExitUnavailable, "uncertain", "check whether it was done: sessctl info SESSION"},
	{core.ErrFenced, ExitFenced, "fenced", "take the head over with: sessctl claim --take-over SESSION, or write to a separate head with: --head NAME"},
	{core.ErrConflict, ExitConflict, "conflict", ""},
	{core.ErrExists, ExitConflict, "exists", ""},
	{core.ErrHeld, ExitConflict, "held", "list the holds with: sessctl legal-hold"},
	{core.ErrDeleted, ExitDeleted, "deleted", "if it is in the trash, restore it with: sessctl rm --undo SESSION"},
	{core.ErrTooNew, ExitOther, "too-new", ""},
	{core.ErrTooLarge, ExitInvalid, "too-large", ""},
	{core.ErrFull, ExitUnavailable, "full", ""},
	{core.ErrInvalid, ExitInvalid, "invalid", ""},
	{core.ErrNotFound, ExitNotFound, "not-found", "list sessions with: sessctl ls, or entries with: sessctl tree SESSION"},
	{api.ErrTooMany, ExitUnavailable, "too-many", "wait a moment, or ask an admin for a token with higher limits"},
	{fs.ErrNotExist, ExitNotFound, "not-found", ""},
	{fs.ErrExist, ExitConflict, "exists", ""},
	{core.ErrCorrupt, ExitDamaged, "corrupt", ""},
	{core.ErrLost, ExitDamaged, "lost", ""},
	{core.ErrUnavailable, ExitUnavailable, "unavailable", ""},
	{context.DeadlineExceeded, ExitUnavailable, "unavailable", ""},
	{context.Canceled, exitInterrupted, "interrupted", ""},
}

// A UsageError is an error in the command line.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

// Usagef returns a UsageError.
func Usagef(form string, args ...any) error { return &UsageError{fmt.Sprintf(form, args...)} }

// Hintf returns err with a hint, or nil if err is nil.
func Hintf(err error, form string, args ...any) error { return hint.With(err, form, args...) }

// Reported ends the program with an exit code, without printing an error.
type Reported struct{ Exit int }

func (e Reported) Error() string { return fmt.Sprintf("exit code %d", e.Exit) }

// A report is an error as -o json prints it.
type report struct {
	Code   string        `json:"code"`
	Detail string        `json:"detail"`
	Next   string        `json:"next,omitempty"`
	Line   int           `json:"line,omitempty"`
	Entry  string        `json:"entry,omitempty"`
	Head   string        `json:"head,omitempty"`
	Holder *core.Claim   `json:"holder,omitempty"`
	Life   *session.Life `json:"life,omitempty"` // of the holder
	Cursor *core.Cursor  `json:"cursor,omitempty"`
	Since  []core.Change `json:"since,omitempty"` // the changes of other writers
	More   int           `json:"more,omitempty"`
	Exit   int           `json:"exit"`
}

// Describe maps an error to its exit code, text and hint. base is the URL of the
// node.
func Describe(err error, base string) report {
	r := report{Code: "error", Detail: err.Error(), Exit: ExitOther}
	for _, o := range Outcomes {
		if errors.Is(err, o.err) {
			r.Code, r.Exit, r.Next = o.Code, o.Exit, o.next
			break
		}
	}
	r.Detail = withoutSentinel(r.Detail)
	r.fromNode(err)
	r.fromCore(err)
	r.fromNetwork(err, base)
	if _, ok := errors.AsType[*UsageError](err); ok {
		r.Code, r.Exit = "usage", ExitUsage
	}
	if errors.Is(err, agent.ErrUsage) {
		r.Code, r.Exit = "usage", ExitUsage
	}
	if e, ok := errors.AsType[*process.StartError](err); ok {
		r.Code, r.Exit = "not-started", e.Code
	}
	if text, next, ok := strings.Cut(r.Detail, "\nhint: "); ok { // a line of the error's text
		r.Detail, r.Next = text, next
	}
	if next, ok := hint.Of(err); ok {
		r.Next = next
	}
	return r
}

// withoutSentinel returns text without the name of an error at its end, if the rest
// says as much.
func withoutSentinel(text string) string {
	text = strings.TrimSuffix(text, ": "+core.ErrInvalid.Error())
	text = strings.TrimSuffix(text, ": "+core.ErrConflict.Error())
	if rest, ok := strings.CutSuffix(text, ": "+core.ErrNotFound.Error()); ok && strings.Contains(" "+rest, " no ") {
		return rest
	}
	return text
}

func (r *report) fromNode(err error) {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return
	}
	d := e.Detail
	r.Code, r.Line, r.Entry, r.Head, r.Holder, r.Life, r.Cursor = d.Code, d.Line, d.Entry, d.Head, d.Holder, d.Life, d.Cursor
	r.Since, r.More = d.Since, d.More
	if r.Next == "" && !errors.Is(err, core.ErrInvalid) { // whose detail is sufficient
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

// fromNetwork describes that the node at base did not respond.
func (r *report) fromNetwork(err error, base string) {
	dial, ok := unreached(err)
	switch {
	case ok:
		r.Code, r.Exit = "unavailable", ExitUnavailable
		r.Detail = fmt.Sprintf("no node at %s: %s", base, lastCause(dial))
		r.Next = "start one with: sessnode, or name another with --url or SESS_URL"
	case errors.Is(err, context.DeadlineExceeded):
		r.Detail = "timeout: no response from " + base + r.unknown()
		if r.Next == "" {
			r.Next = "check the node with: sessctl status, or wait longer with: --timeout TIME"
		}
	case errors.Is(err, context.Canceled):
		r.Detail = "interrupted" + r.unknown()
	}
}

func (r *report) unknown() string {
	if r.Code == "uncertain" {
		return "; outcome unknown"
	}
	return ""
}

// IsUnanswered reports whether no node responded, so that further requests would
// probably fail, too.
func IsUnanswered(err error) bool {
	return errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain)
}

// IsUnreached reports whether there is no node at the address, so that nothing was sent.
func IsUnreached(err error) bool {
	_, is := unreached(err)
	return is
}

func unreached(err error) (*net.OpError, bool) {
	dial, ok := errors.AsType[*net.OpError](err)
	return dial, ok && dial.Op == "dial" && !errors.Is(err, context.Canceled)
}

func lastCause(err *net.OpError) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "connection refused"
	}
	return err.Err.Error()
}

// Show prints err as the error of cmd and returns the exit code.
func (a *App) Show(cmd *cobra.Command, err error) int {
	if done, ok := errors.AsType[Reported](err); ok {
		return done.Exit
	}
	base, _ := a.Base()
	r := Describe(err, base)
	verb := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "sessctl"), " ")
	if r.Exit == ExitUsage && r.Next == "" {
		r.Next = strings.TrimSpace("sessctl help " + verb)
	}
	if a.Format == JSON {
		b, _ := json.Marshal(r)
		fmt.Fprintf(a.Stderr, "%s\n", b)
		return r.Exit
	}
	if verb != "" {
		verb += ": "
	}
	fmt.Fprintf(a.Stderr, "%s %s%s\n", a.Stderr.Paint(Red, "sessctl:"), verb, Plain(r.Detail))
	if r.Next != "" {
		fmt.Fprintf(a.Stderr, "hint: %s\n", Plain(r.Next))
	}
	return r.Exit
}

// Finish prints err, unless it is nil, and returns the exit code of the program.
// An error before Start is a usage error.
func (a *App) Finish(cmd *cobra.Command, err error) int {
	if err == nil {
		return ExitOK
	}
	if !a.started {
		err = &UsageError{err.Error()}
	}
	return a.Show(cmd, err)
}
