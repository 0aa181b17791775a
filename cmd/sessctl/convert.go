package main

import (
	"context"
	"io"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
)

// exportAs writes a session as a file of another agent.
func (a *app) exportAs(ctx context.Context, arg string, f exportFlags) error {
	src, err := a.find(ctx, arg)
	if err != nil {
		return err
	}
	if src.file != nil {
		return a.convertFile(src.file, f)
	}
	body, done, err := src.node.ExportAs(ctx, src.id, f.as, f.view.api())
	if err != nil {
		return err
	}
	defer body.Close()
	a.noteLost(f.as, done.Lost)
	return a.deliverLosing(f.outFlags, true, done.Lost, func(w io.Writer) error {
		_, err := io.Copy(w, answer{body})
		return err
	})
}

func (a *app) convertFile(file *sessionFile, f exportFlags) error {
	to, err := dialect.Named(f.as)
	if err != nil {
		return err
	}
	leaf, err := file.view(f.view)
	if err != nil {
		return err
	}
	res, err := convert.Convert(convert.Request{
		From: file.dialect, To: to, Header: file.Header, Entries: file.Entries, Leaf: leaf,
		ID:   convert.SessionID(string(core.SessionIDFor(file.Dialect, file.Header.ID)), f.as),
		Time: file.dialect.Summary(file.Header, file.Entries).Created,
	})
	if err != nil {
		return err
	}
	a.noteSkipped(file)
	a.noteLost(f.as, res.Lost)
	return a.deliverLosing(f.outFlags, true, res.Lost, func(w io.Writer) error {
		_, err := w.Write(core.Lines(to.Layout(res.Header, res.Entries)))
		return err
	})
}

// noteLost tells people what another agent's file has no place for.
func (a *app) noteLost(as string, lost []convert.Loss) {
	for _, l := range lost {
		a.notef("not in a session of %s: %d × %s", as, l.Count, l.What)
	}
}
