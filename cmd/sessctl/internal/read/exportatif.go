package read

import (
	"context"
	"io"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/trajectory"
	"github.com/sesslog/sesslog/core/usage"
)

// asATIF is the name of the format of exportATIF.
const asATIF = "atif"

// exportATIF writes the path to the head in the Agent Trajectory Interchange Format.
func (a app) exportATIF(ctx context.Context, arg string, f exportFlags) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	t, err := a.trajectory(ctx, src, f.view)
	if err != nil {
		return err
	}
	sum, err := a.pathUsage(ctx, src, f.view)
	if err != nil {
		return err
	}
	doc, err := t.ATIF(sum)
	if err != nil {
		return err
	}
	return a.Deliver(f.OutFlags, true, func(w io.Writer) error {
		_, err := w.Write(doc)
		return err
	})
}

// trajectory returns the steps of the path to the head.
func (a app) trajectory(ctx context.Context, src cli.Source, v cli.ViewFlags) (trajectory.Trajectory, error) {
	d, h, path, err := a.path(ctx, src, v)
	if err != nil {
		return trajectory.Trajectory{}, err
	}
	return trajectory.Of(d, h, path, usage.Listed())
}

// pathUsage returns what the path to the head used, without sub-agents.
func (a app) pathUsage(ctx context.Context, src cli.Source, v cli.ViewFlags) (usage.Sum, error) {
	if !v.Given() {
		v = cli.HeadView(core.MainHead)
	}
	if src.File == nil {
		u, err := src.Node.Usage(ctx, src.ID, v.API())
		return u.Sum, err
	}
	r, err := fileUsage(src.File, v)
	if err != nil {
		return usage.Sum{}, err
	}
	usage.Listed().Estimate(&r)
	return r.Sum, nil
}
