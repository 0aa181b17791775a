package follow

import (
	"errors"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A claimAction is what to do about the claim on a head that a file's lines go to.
type claimAction int

const (
	claimFree  claimAction = iota // claim it
	claimOver                     // take it over from a silent holder
	claimShare                    // use the existing claim, which is this host's
	claimLeave                    // leave it to its holder
)

// decideClaim decides about a head. own is the writer of the follower's claim on
// it, and remembered that of a claim that this host has from elsewhere; either may
// be empty. host is this host's name.
func decideClaim(h api.HeadInfo, own, remembered, host string) claimAction {
	switch c := h.Claim; {
	case c == nil:
		return claimFree
	case c.Writer == own, c.Writer == remembered, isLocal(c, host):
		return claimShare
	case h.Life != nil && h.Life.State == session.LifeSilent:
		return claimOver
	}
	return claimLeave
}

// isLocal reports whether a claim was made on this host. Its maker then follows
// the same file.
func isLocal(c *core.Claim, host string) bool { return c.Host != "" && c.Host == host }

// endsClaim reports whether err says that the claim of writer on head is over, or
// that another process of this host has claimed it: then the file must be examined
// again, under the claim that exists by then. Errors about other heads do not
// count. shares is true if claims of this host are shared.
func endsClaim(head, writer, host string, shares bool, err error) bool {
	if !errors.Is(err, core.ErrFenced) {
		return false
	}
	e, ok := errors.AsType[*client.Error](err)
	if ok && e.Detail.Head != "" && e.Detail.Head != head {
		return false
	}
	return writer != "" || ok && shares && e.Detail.Holder != nil && isLocal(e.Detail.Holder, host)
}

// HeadHolder returns the claim on a head, or nil.
func HeadHolder(hs api.Heads, head string) *core.Claim {
	for _, h := range hs.Heads {
		if h.Head == head {
			return h.Claim
		}
	}
	return nil
}
