package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/hint"
	"github.com/sesslog/sesslog/internal/humantime"
	"github.com/sesslog/sesslog/session"
)

// LifeText says whether the holder of a claim seems to be active. It is empty if l
// is nil.
func LifeText(l *session.Life, now time.Time) string {
	if l == nil {
		return ""
	}
	switch l.State {
	case session.LifeAlive:
		return "alive, seen " + humantime.Ago(l.Seen, now)
	case session.LifeSilent:
		return "silent since " + humantime.Short(l.Seen, now)
	case session.LifeNew:
		return "claimed only " + humantime.Ago(l.Seen, now)
	}
	return "not known to be alive"
}

// mayTakeOver decides whether a head may be claimed. It returns the options for
// the claim and what is known of the holder, or an error that wraps core.ErrFenced
// if the holder seems to be active. own is the writer that this host remembers.
func (h *Host) mayTakeOver(ctx context.Context, node Node, id core.SessionID, o ClaimOptions, own string) (ClaimOptions, *session.Life, error) {
	hs, err := node.Heads(ctx, string(id))
	if err != nil {
		return o, nil, err
	}
	for _, head := range hs.Heads {
		if head.Head != o.Head || head.Claim == nil {
			continue
		}
		if o.TakeOver {
			return o, head.Life, nil
		}
		if err := h.checkRun(id, head); err != nil {
			return o, head.Life, err
		}
		if head.Life == nil && head.Claim.Writer != own {
			return o, nil, errUnknownLife(id, head)
		}
		isOwn := head.Claim.Writer == own && (head.Life == nil || head.Life.State != session.LifeAlive)
		if !isOwn && head.Life.AtWork() {
			if err := h.checkHolder(ctx, node, id, head); err != nil {
				return o, head.Life, err
			}
		}
		o.TakeOver, o.From = true, head.Claim.Writer
		return o, head.Life, nil
	}
	return o, nil, nil
}

// checkHolder returns an error unless sessctl run or sessctl watch on this host
// made the claim, for an agent that has ended since. The follower of an agent's
// file keeps its claim for a while after the last line, so such a claim counts as
// active only while the agent runs. The writer identifies a claim of this host,
// because host names are not unique; claims of nodes are not remembered and count
// as active.
func (h *Host) checkHolder(ctx context.Context, node Node, id core.SessionID, head api.HeadInfo) error {
	active := h.errActive(id, head)
	if !h.isLocal(head.Claim) {
		return active
	}
	if _, ok := h.runs().claimedBy(head.Claim.Writer); ok {
		return h.checkRun(id, head)
	}
	stored, _, err := h.Claims.Load(id, head.Head)
	if err != nil {
		return err
	}
	if !stored.Follows || stored.Writer != head.Claim.Writer {
		return active // such as the claim of sessctl claim --hold
	}
	info, err := node.Info(ctx, string(id))
	if err != nil {
		return err
	}
	pid, ok := findAgent(info.Log.Dialect, h.likelyDirs(info.CWD, stored), h.runs().busyElsewhere(id))
	switch {
	case !ok:
		return active
	case pid == 0:
		return nil
	}
	return errRuns(id, head, fmt.Sprintf("may still run there, as process %d", pid), "end it first; or, if it works with another session, continue with")
}

// checkRun returns an error if sessctl run on this host made the claim and its
// agent still runs.
func (h *Host) checkRun(id core.SessionID, head api.HeadInfo) error {
	n, ok := h.runs().claimedBy(head.Claim.Writer)
	if !ok || !h.isLocal(head.Claim) {
		return nil
	}
	pid := n.running()
	if pid == 0 {
		return nil
	}
	return errRuns(id, head, fmt.Sprintf("still runs there, as process %d", pid), "end it first, or take the session from it with")
}

// findAgent returns a process of the agent of a dialect, or 0. An agent can
// continue a session from any directory, so dirs only decide which process is the
// likeliest. ok is false if the name of the agent's program is unknown, or if the
// platform cannot tell.
func findAgent(dialect string, dirs []string, except map[int]bool) (pid int, ok bool) {
	if OpenArgs(dialect, "") == nil { // the others are not known to be programs
		return 0, false
	}
	return process.Find(dialect, dirs, except)
}

// likelyDirs returns the directories of this host where a session's agent may run:
// where the session worked, and where the file written on this host says.
func (h *Host) likelyDirs(cwd string, stored StoredClaim) []string {
	dirs := []string{cwd}
	if w, err := h.workdir("", cwd); err == nil {
		dirs = append(dirs, w.local())
	}
	file, err := os.Open(stored.Path)
	if err != nil {
		return dirs
	}
	defer file.Close()
	start, _ := io.ReadAll(io.LimitReader(file, headerLimit))
	if i := strings.LastIndexByte(string(start), '\n'); i >= 0 {
		if f, _, err := dialect.Read("", start[:i+1]); err == nil {
			dirs = append(dirs, f.Header.CWD)
		}
	}
	return dirs
}

// checkUnused returns an error if an agent on this host writes to the file at
// f.path: replacing it would confuse that agent.
func (r *resumer) checkUnused(f *stagedFile) error {
	if f.old == nil {
		return nil
	}
	pid := 0
	if n, ok := r.host.runs().load(f.path); ok {
		pid = n.running()
	}
	if pid == 0 {
		pid = process.WriterOf(realPath(f.path))
	}
	if pid == 0 {
		return nil
	}
	return hint.With(fmt.Errorf("process %d on %s still works with %s%w", pid, r.host.Name, f.path, hint.Silent(core.ErrFenced)),
		"end it first, or replace the file anyway with: sessctl resume --take-over %s", r.id)
}

func fenced(id core.SessionID, head api.HeadInfo) error {
	return &core.FencedError{Session: id, Head: head.Head, Holder: head.Claim}
}

func errRuns(id core.SessionID, head api.HeadInfo, how, next string) error {
	return hint.With(fmt.Errorf("%w: the agent %s", fenced(id, head), how), "%s: sessctl resume --take-over%s %s", next, HeadFlag(head.Head), id)
}

// errUnknownLife is returned while the node cannot tell whether the holder is
// active.
func errUnknownLife(id core.SessionID, head api.HeadInfo) error {
	return hint.With(fmt.Errorf("%w; whether the holder is active is unknown", fenced(id, head)),
		"try again, or take it over with: sessctl resume --take-over%s %s", HeadFlag(head.Head), id)
}

func (h *Host) errActive(id core.SessionID, head api.HeadInfo) error {
	return hint.With(fmt.Errorf("%w: %s", fenced(id, head), LifeText(head.Life, h.Now())),
		"ask the holder to end first, or take it over with: sessctl resume --take-over%s %s", HeadFlag(head.Head), id)
}
