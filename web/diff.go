package web

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/edits"
	"github.com/sesslog/sesslog/core/item"
)

// A diffPage shows what two paths have after their common beginning, side by side.
type diffPage struct {
	*session
	With, WithHead, WithLeaf string // the other path, as it was asked for
	Diff                     *api.Diff
	Sides                    []side // nil if there is nothing to compare yet
}

// A side is one of the two paths.
type side struct {
	Name    string
	Href    string // of its transcript, after the common entries
	Total   int
	Entries []*entry
	More    int
}

func (p *page) diff(w http.ResponseWriter, r *http.Request) error {
	s, src, err := p.open(r, "diff")
	if err != nil {
		return err
	}
	view := diffPage{session: s, With: r.FormValue("with"), WithHead: r.FormValue("withHead"), WithLeaf: r.FormValue("withLeaf")}
	if view.With+view.WithHead+view.WithLeaf == "" {
		return p.show(w, r, http.StatusOK, "diff.html", view)
	}
	other := src
	if view.With != "" {
		if other, err = p.sourceOf(r.Context(), src.Client, core.SessionID(view.With)); err != nil {
			return err
		}
	}
	v, with := src.view(r), client.View{Head: cmp.Or(view.WithHead, core.MainHead), Leaf: view.WithLeaf}
	d, err := src.Diff(r.Context(), src.id, v, view.With, with, 0)
	if err != nil {
		return err
	}
	view.Diff = &d
	for i, one := range []*source{src, other} {
		path, total := []client.View{v, with}[i], []int{d.A.Total, d.B.Total}[i]
		got, err := one.read(r.Context(), path, d.Common, chunkSize)
		if err != nil {
			return err
		}
		shown := &session{Head: path.Head, Leaf: path.Leaf}
		q := shown.query()
		q.Set("from", fmt.Sprint(d.Common))
		name := join(" ", cmp.Or(one.row.ShortID, one.id), cmp.Or(path.Leaf, path.Head))
		view.Sides = append(view.Sides, side{Name: name, Href: one.base + "?" + q.Encode(), Total: total, Entries: got.Entries, More: max(0, total-chunkSize)})
	}
	return p.show(w, r, http.StatusOK, "diff.html", view)
}

// An editsPage shows what the agent's tools changed, by file.
type editsPage struct {
	*session
	Files []file
	More  int // edits that are left out
}

// A file is one that was changed.
type file struct {
	Path    string
	Added   int // lines
	Removed int
	Edits   []change
	More    int // edits that are left out
}

// A change is one edit of a file.
type change struct {
	edits.FileEdit
	HTML template.HTML
}

// maxEdits bounds the edits of one file that a page shows, maxFiles the files, and
// maxEditBytes the bytes of all edits.
const (
	maxEdits     = 200
	maxFiles     = 500
	maxEditBytes = 4 << 20
)

func (p *page) edits(w http.ResponseWriter, r *http.Request) error {
	s, src, err := p.open(r, "edits")
	if err != nil {
		return err
	}
	all, err := src.Edits(r.Context(), src.id, src.view(r))
	if err != nil {
		return err
	}
	return p.show(w, r, http.StatusOK, "edits.html", editsPage{s, filesOf(all.Edits), all.Total - len(all.Edits)})
}

// filesOf groups edits by file, in the order of their first edits.
func filesOf(all []edits.FileEdit) (files []file) {
	at := map[string]int{}
	size := 0
	for _, c := range all {
		i, known := at[c.Path]
		if !known {
			if len(files) == maxFiles {
				continue
			}
			i = len(files)
			at[c.Path] = i
			files = append(files, file{Path: c.Path})
		}
		f := &files[i]
		html, added, removed := editHTML(c.Edit)
		if !c.Failed && !c.Open {
			f.Added += added
			f.Removed += removed
		}
		if size += len(html); len(f.Edits) == maxEdits || size > maxEditBytes {
			f.More++
			continue
		}
		f.Edits = append(f.Edits, change{c, html})
	}
	return files
}

// editHTML shows an edit as a diff, and counts its lines.
func editHTML(e item.Edit) (html template.HTML, added, removed int) {
	var b strings.Builder
	if e.Patch != "" {
		text, _ := clip(e.Patch)
		for l := range strings.SplitSeq(visible(text), "\n") {
			switch {
			case strings.HasPrefix(l, "+"):
				added += diffLine(&b, "ins", "+ ", l[1:])
			case strings.HasPrefix(l, "-"):
				removed += diffLine(&b, "del", "- ", l[1:])
			default:
				diffLine(&b, "span", "  ", strings.TrimPrefix(l, " "))
			}
		}
	} else {
		before, _ := clip(e.Old)
		after, _ := clip(e.New)
		added, removed = diffLines(&b, before, after)
	}
	return template.HTML(`<pre class="code diff" tabindex="0">` + b.String() + `</pre>`), added, removed // #nosec G203 -- escaped by diffLine
}

// diffLines writes the lines of before and of after, those once that both begin or end
// with, and counts the others.
func diffLines(b *strings.Builder, before, after string) (added, removed int) {
	x, y := linesOf(before), linesOf(after)
	begin, end := 0, 0
	for begin < min(len(x), len(y)) && x[begin] == y[begin] {
		begin++
	}
	for end < min(len(x), len(y))-begin && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	write := func(tag, sign string, lines []string) (n int) {
		for _, l := range lines {
			n += diffLine(b, tag, sign, l)
		}
		return n
	}
	write("span", "  ", x[:begin])
	removed = write("del", "- ", x[begin:len(x)-end])
	added = write("ins", "+ ", y[begin:len(y)-end])
	write("span", "  ", x[len(x)-end:])
	return added, removed
}

// linesOf returns the lines of a text, none of an empty one.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(visible(text), "\n"), "\n")
}

func diffLine(b *strings.Builder, tag, sign, line string) int {
	b.WriteString("<" + tag + ">" + sign + template.HTMLEscapeString(line) + "\n</" + tag + ">")
	return 1
}
