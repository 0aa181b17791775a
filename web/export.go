package web

import (
	"encoding/base64"
	"html/template"
	"io"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// An exported session is the data of its template.
type exported struct {
	Title   string
	Dialect string
	CWD     string
	Entries []*entry
	Style   template.CSS
	display.Summary
}

// Export writes the entries of a path as one file of HTML, which has its style and its
// images in it and loads nothing. Images in path are base64; those that are not are left
// out.
func Export(w io.Writer, d core.Dialect, h core.Header, path []core.Entry) error {
	style, err := static.ReadFile("static/style.css")
	if err != nil {
		return err
	}
	out := exported{Dialect: d.Name(), CWD: h.CWD, Style: template.CSS(style), Summary: d.Summary(h, path)} // #nosec G203 -- our own
	out.Title = titleOf(out.Name, out.First, h.ID)
	entries := newEntryReader(d, "")
	entries.left = exportTime
	entries.image = func(_ string, _ int, b *item.Block) template.URL {
		kind, data, ok := picture(*b)
		if !ok {
			return ""
		}
		return template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)) // #nosec G203 -- a picture
	}
	for i := range path {
		if e := entries.read(path[i], i); e != nil {
			out.Entries = append(out.Entries, e)
		}
	}
	return templates().ExecuteTemplate(w, "export.html", out)
}
