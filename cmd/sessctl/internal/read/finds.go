package read

import (
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// A find is an entry or a prompt that a search found.
type find struct {
	session                   core.SessionID
	short, dialect, cwd, name string
	time                      string
	label                     string // plain text in front of the text
	text                      string
	matches                   []catalog.Span
}

// finds are the finds of each session, the session of the newest one first.
type finds struct {
	sessions []core.SessionID
	of       map[core.SessionID][]find
}

func (f *finds) add(one find) {
	if f.of == nil {
		f.of = map[core.SessionID][]find{}
	}
	if f.of[one.session] == nil {
		f.sessions = append(f.sessions, one.session)
	}
	f.of[one.session] = append(f.of[one.session], one)
}

const (
	// entryColumns limits the width of an entry's id.
	entryColumns = 12
	// findColumns limits the width of a text if the screen has no width.
	findColumns = 200
)

// printFinds prints a line for each session, and its finds below it. -o wide prints
// whole ids.
func (a app) printFinds(fs finds) error {
	var b strings.Builder
	for _, id := range fs.sessions {
		of := fs.of[id]
		width := 0
		for _, f := range of {
			width = max(width, cli.Columns(f.label))
		}
		b.WriteString(a.findHeading(of[0]) + "\n")
		for _, f := range of {
			label := f.label + strings.Repeat(" ", width-cli.Columns(f.label))
			text := a.Stdout.Marked(cli.Cut(cli.Plain(f.text), findColumns), f.words(), width+4)
			b.WriteString("  " + a.Stdout.Paint(cli.Dim, label) + "  " + text + "\n")
		}
	}
	return a.PrintPage(b.String())
}

func (a app) findHeading(f find) string {
	id, project := cli.ShortID(f.short, f.session), cli.Project(f.cwd)
	if a.Wide {
		id, project = string(f.session), f.cwd
	}
	about := cli.Join("  ", cli.Plain(f.dialect), cli.Plain(project), cli.Plain(a.Ago(f.time)), cli.Plain(f.name))
	return a.Stdout.Paint(cli.Yellow, cli.Plain(id)) + "  " + a.Stdout.Fit(about, cli.Columns(id)+2)
}

// words returns the words of the text that were searched for.
func (f find) words() (words []string) {
	for _, m := range f.matches {
		if 0 <= m.From && m.From < m.To && m.To <= len(f.text) {
			words = append(words, f.text[m.From:m.To])
		}
	}
	return words
}
