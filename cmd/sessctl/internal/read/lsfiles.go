package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/hint"
	"github.com/sesslog/sesslog/session/catalog"
)

// A fileRow is a session file in a listing.
type fileRow struct {
	Path    string   `json:"path"`
	ID      string   `json:"id"` // the agent's own
	Dialect string   `json:"dialect"`
	CWD     string   `json:"cwd,omitempty"`
	Parents []string `json:"parents,omitempty"` // as the header names them: ids or paths
	Entries int      `json:"entries"`
	display.Summary
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkPrefix returns an error if arg, which names no directory, looks like a path: no
// session id begins so.
func checkPrefix(arg string) error {
	if !cli.LooksLikePath(arg) && !strings.HasPrefix(arg, ".") && !strings.HasPrefix(arg, "~") {
		return nil
	}
	if _, err := os.Stat(arg); err == nil {
		return cli.Hintf(fmt.Errorf("%.128q is a file, not a directory: %w", arg, core.ErrInvalid), "show the session in it with: sessctl info %s", arg)
	}
	return fmt.Errorf("no such directory: %s%w", arg, hint.Silent(core.ErrNotFound))
}

// lsFiles lists the session files in and below the directory f.prefix.
func (a app) lsFiles(ctx context.Context, f lsFlags) error {
	o, err := f.filter.Options(a.Now())
	if err != nil {
		return err
	}
	rest := o
	rest.CWD, rest.Below, rest.Dialect, rest.Name, rest.Text = "", false, "", "", ""
	if !reflect.DeepEqual(rest, catalog.Filter{}) || f.watch || f.sort != "" {
		return cli.Usagef("for a directory, ls supports only the flags --cwd, --below, --dialect, --name, --text, --reverse and --limit")
	}
	rows, err := a.fileRows(ctx, f.prefix, func(r fileRow) bool { return matchesFile(&r, &o) })
	if err != nil {
		return err
	}
	if f.reverse {
		slices.Reverse(rows)
	}
	if f.limit > 0 && len(rows) > f.limit {
		a.Notef("there are more, list all with: --limit 0")
		rows = rows[:f.limit]
	}
	if a.Format == cli.JSON {
		return a.PrintJSON(cli.NotNil(rows))
	}
	g := a.NewGrid()
	g.Row("AGENT", "MODIFIED", "MESSAGES", "CWD", "TITLE", "FILE")
	for _, r := range rows {
		g.Row(r.Dialect, a.TimeText(cmp.Or(r.Modified, r.Created)), strconv.Itoa(r.Messages), cli.OrDash(r.CWD), cli.OrDash(cmp.Or(r.Name, r.First)), r.Path)
	}
	return g.Flush()
}

// fileRows returns the rows of the session files below dir that fit, newest first.
// What cannot be read is said; files that are no sessions are counted.
func (a app) fileRows(ctx context.Context, dir string, fits func(fileRow) bool) ([]fileRow, error) {
	var paths []string
	cli.WalkSessions(dir, func(path string, _ fs.DirEntry, err error) {
		if err != nil {
			a.Notef("%v", err)
			return
		}
		paths = append(paths, path)
	})
	var rows []fileRow
	others := 0
	bar := a.NewProgress("files")
	for i, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		src, err := a.Find(ctx, path)
		switch {
		case errors.Is(err, core.ErrInvalid):
			others++
		case err != nil:
			a.Notef("%v", err)
		default:
			h := src.File.Header
			r := fileRow{path, h.ID, src.File.Dialect, h.CWD, parentsOf(h), len(src.File.Entries), src.File.Rules.Summary(h, src.File.Entries)}
			if fits(r) {
				rows = append(rows, r)
			}
		}
		bar.Step(i+1, len(paths))
	}
	bar.End()
	if others > 0 {
		a.Notef("%s that no agent known here wrote", cli.Count(others, "file", "files"))
	}
	slices.SortStableFunc(rows, func(a, b fileRow) int {
		return cmp.Or(cmp.Compare(cmp.Or(b.Modified, b.Created), cmp.Or(a.Modified, a.Created)), cmp.Compare(a.Path, b.Path))
	})
	return rows, nil
}

// parentsOf returns what a header names as the sessions that this one came from.
func parentsOf(h core.Header) []string {
	if h.Parent != "" && len(h.Parents) == 0 {
		return []string{h.Parent}
	}
	return h.Parents
}

func matchesFile(r *fileRow, o *catalog.Filter) bool {
	in := func(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }
	below := r.CWD == o.CWD || o.Below && strings.HasPrefix(r.CWD, strings.TrimRight(o.CWD, "/")+"/")
	return (o.CWD == "" || below) && (o.Dialect == "" || r.Dialect == o.Dialect) &&
		in(r.Name, o.Name) && (in(r.Name, o.Text) || in(r.First, o.Text))
}
