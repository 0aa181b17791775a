package read

import (
	"context"
	"io"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
)

// exportAs writes a session as a file of another agent.
func (a app) exportAs(ctx context.Context, arg string, f exportFlags) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	if src.File != nil {
		return a.convertFile(src.File, f)
	}
	body, done, err := src.Node.ExportAs(ctx, src.ID, f.as, f.view.API())
	if err != nil {
		return err
	}
	defer body.Close()
	a.noteLost(f.as, done.Lost)
	return a.DeliverLosing(f.OutFlags, true, done.Lost, func(w io.Writer) error {
		_, err := io.Copy(w, cli.Answer{Reader: body})
		return err
	})
}

func (a app) convertFile(file *cli.SessionFile, f exportFlags) error {
	to, err := dialect.Named(f.as)
	if err != nil {
		return err
	}
	leaf, err := file.View(f.view)
	if err != nil {
		return err
	}
	res, err := convert.Convert(convert.Request{
		From: file.Rules, To: to, Header: file.Header, Entries: file.Entries, Leaf: leaf,
		ID:   convert.SessionID(string(core.SessionIDFor(file.Dialect, file.Header.ID)), f.as),
		Time: file.Rules.Summary(file.Header, file.Entries).Created,
	})
	if err != nil {
		return err
	}
	a.NoteSkipped(file)
	a.noteLost(f.as, res.Lost)
	return a.DeliverLosing(f.OutFlags, true, res.Lost, func(w io.Writer) error {
		_, err := w.Write(core.Lines(to.Layout(res.Header, res.Entries)))
		return err
	})
}

// noteLost prints the data that a conversion lost.
func (a app) noteLost(as string, lost []convert.Loss) {
	for _, l := range lost {
		a.Notef("lost in the format of %s: %d × %s", as, l.Count, l.What)
	}
}
