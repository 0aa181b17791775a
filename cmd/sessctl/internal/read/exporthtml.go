package read

import (
	"context"
	"encoding/json"
	"io"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/web"
)

// asHTML is the name of the format of exportHTML.
const asHTML = "html"

// exportHTML writes the path to the head as a page.
func (a app) exportHTML(ctx context.Context, arg string, f exportFlags) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	d, h, path, err := a.path(ctx, src, f.view)
	if err != nil {
		return err
	}
	return a.Deliver(f.OutFlags, true, func(w io.Writer) error { return web.Export(w, d, h, path) })
}

// path returns the entries to a leaf of a session, with their images.
func (a app) path(ctx context.Context, src cli.Source, v cli.ViewFlags) (core.Dialect, core.Header, []core.Entry, error) {
	if src.File == nil {
		return a.nodePath(ctx, src, v)
	}
	leaf, err := src.File.View(v)
	if err != nil {
		return nil, core.Header{}, nil, err
	}
	a.NoteSkipped(src.File)
	path, err := src.File.Rules.Path(src.File.Entries, leaf)
	return src.File.Rules, src.File.Header, path, err
}

// nodePath is path for a session in the log.
func (a app) nodePath(ctx context.Context, src cli.Source, v cli.ViewFlags) (core.Dialect, core.Header, []core.Entry, error) {
	info, err := src.Node.Info(ctx, src.ID)
	if err != nil {
		return nil, core.Header{}, nil, err
	}
	d, err := dialect.Named(info.Log.Dialect)
	if err != nil {
		return nil, core.Header{}, nil, err
	}
	h, err := d.Header(info.Header)
	if err != nil { // the description has the header in another form
		h = core.Header{Line: json.RawMessage("{}"), ID: info.SessionID, CWD: info.CWD}
	}
	body, err := src.Node.Entries(ctx, src.ID, true, v.API())
	if err != nil {
		return nil, h, nil, err
	}
	defer body.Close()
	var path []core.Entry
	err = cli.EachLine(body, func(line []byte) error {
		if e, err := d.Entry(append([]byte(nil), line...)); err == nil {
			path = append(path, e)
		}
		return nil
	})
	return d, h, path, err
}
