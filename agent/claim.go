package agent

import (
	"context"
	"errors"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// ClaimOptions say which head to claim.
type ClaimOptions struct {
	Head     string
	Agent    string // who will write, for others to read
	TakeOver bool   // even if another holds it
	From     string // with TakeOver, the only writer to take it from
}

// Claim claims a head in the name of the host's user.
func Claim(ctx context.Context, h *Host, node Node, id core.SessionID, o ClaimOptions) (api.Claimed, error) {
	c, err := node.Claim(ctx, string(id), core.ClaimRequest{
		Head: o.Head, Agent: o.Agent, Host: h.Name, By: h.By, TakeOver: o.TakeOver, From: o.From,
	})
	if c.Head == "" {
		c.Head = o.Head
	}
	return c, err
}

// CheckClaim returns an error if the node knows that a claim is over; a
// *core.FencedError names the new holder. It returns nil if the node does not
// answer.
func CheckClaim(ctx context.Context, node Node, id core.SessionID, c api.Claimed) error {
	hs, err := node.Heads(ctx, string(id))
	if errors.Is(err, core.ErrDeleted) || errors.Is(err, core.ErrNotFound) {
		return err
	}
	if err != nil {
		return nil
	}
	if holder := follow.HeadHolder(hs, c.Head); holder == nil || holder.Writer != c.Writer {
		return &core.FencedError{Session: id, Head: c.Head, Holder: holder}
	}
	return nil
}

// HolderOf returns the holder that a fencing error names, or nil.
func HolderOf(err error) *core.Claim {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Detail.Holder
	}
	if e, ok := errors.AsType[*core.FencedError](err); ok {
		return e.Holder
	}
	return nil
}
