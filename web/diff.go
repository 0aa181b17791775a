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
		return p.show(w, http.StatusOK, "diff.html", view)
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
	return p.show(w, http.StatusOK, "diff.html", view)
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
	Cut  int // bytes that are left out
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
	files, more := filesOf(all.Edits)
	return p.show(w, http.StatusOK, "edits.html", editsPage{s, files, more + all.Total - len(all.Edits)})
}

// filesOf groups edits by file, in the order of their first edits. It returns how many
// edits it leaves out because they are of too many files.
func filesOf(all []edits.FileEdit) (files []file, more int) {
	at := map[string]int{}
	size := 0
	for _, c := range all {
		i, known := at[c.Path]
		if !known {
			if len(files) == maxFiles {
				more++
				continue
			}
			i = len(files)
			at[c.Path] = i
			files = append(files, file{Path: c.Path})
		}
		f := &files[i]
		d, added, removed := diffOf(c.Edit)
		if !c.Failed && !c.Open {
			f.Added += added
			f.Removed += removed
		}
		html := d.html()
		if size += len(html); len(f.Edits) == maxEdits || size > maxEditBytes {
			f.More++
			continue
		}
		f.Edits = append(f.Edits, change{c, html, d.cut})
	}
	return files, more
}

// A diff is the lines of an edit as HTML, up to maxText bytes of them.
type diff struct {
	b    strings.Builder
	size int // bytes of the lines
	cut  int // bytes that are left out
}

// diffOf returns an edit as a diff, and the numbers of its lines, also of those left out.
// Of two texts, it has the lines with which both begin or end once.
func diffOf(e item.Edit) (d diff, added, removed int) {
	if e.Patch != "" {
		for l := range strings.SplitSeq(e.Patch, "\n") {
			switch {
			case strings.HasPrefix(l, "+"):
				added += d.add("ins", "+ ", l[1:])
			case strings.HasPrefix(l, "-"):
				removed += d.add("del", "- ", l[1:])
			default:
				d.add("span", "  ", strings.TrimPrefix(l, " "))
			}
		}
		return d, added, removed
	}
	x, y := linesOf(e.Old), linesOf(e.New)
	begin, end := 0, 0
	for begin < min(len(x), len(y)) && x[begin] == y[begin] {
		begin++
	}
	for end < min(len(x), len(y))-begin && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	d.add("span", "  ", x[:begin]...)
	removed = d.add("del", "- ", x[begin:len(x)-end]...)
	added = d.add("ins", "+ ", y[begin:len(y)-end]...)
	d.add("span", "  ", x[len(x)-end:]...)
	return d, added, removed
}

// linesOf returns the lines of a text, none of an empty one.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// add adds lines and returns their number.
func (d *diff) add(tag, sign string, lines ...string) int {
	for _, l := range lines {
		if d.size >= maxText {
			d.cut += len(l) + 1
			continue
		}
		shown, cut := clipAt(l, maxText-d.size)
		d.size += len(l) + 1
		d.cut += cut
		d.b.WriteString("<" + tag + ">" + sign + template.HTMLEscapeString(visible(shown)) + "\n</" + tag + ">")
	}
	return len(lines)
}

func (d *diff) html() template.HTML {
	return template.HTML(`<pre class="code diff" tabindex="0">` + d.b.String() + `</pre>`) // #nosec G203 -- escaped by add
}
