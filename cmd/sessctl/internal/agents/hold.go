package agents

import (
	"context"
	"time"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

// endWithin is the timeout of the release at the end.
const endWithin = 10 * time.Second

// hold announces a claim until ctx ends or another writer takes the head over, and
// then releases it.
func (a app) hold(ctx context.Context, node *client.Client, id core.SessionID, c api.Claimed) error {
	announcer := node.Announcer()
	announcer.Add(id, c.Head, c.Claim)
	lost := watchClaim(ctx, node, id, c)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	announcer.Drop(last, c.Writer)
	if lost == nil {
		if err := node.Release(last, string(id), c.Head, c.Writer); err != nil {
			return cli.Hintf(err, "the claim remains; release it with: sessctl release%s %s", agent.HeadFlag(c.Head), id)
		}
	}
	if err := a.Claims().Forget(id, c.Head, c.Writer); err != nil {
		a.Notef("%v", err)
	}
	return lost
}

// watchClaim returns nil after ctx has ended, or how the claim was lost. It keeps
// asking a node that does not answer.
func watchClaim(ctx context.Context, node *client.Client, id core.SessionID, c api.Claimed) error {
	tick := time.NewTicker(agent.CheckInterval)
	defer tick.Stop()
	for {
		if err := agent.CheckClaim(ctx, node, id, c); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
