package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"golang.org/x/term"
)

// A format is for whom results are printed: for people, or for programs.
type format string

const (
	table  format = "table"
	asJSON format = "json"
)

// formats are what -o takes.
var formats = []string{"table", "wide", "json"}

// outputFlag is -o. wide is a table that is not cut and has more columns.
type outputFlag struct{ a *app }

func (f outputFlag) String() string {
	switch {
	case f.a == nil: // pflag asks a zero value what the default is
		return string(table)
	case f.a.wide:
		return "wide"
	}
	return string(f.a.format)
}

func (outputFlag) Type() string { return "format" }

func (f outputFlag) Set(s string) error {
	if !slices.Contains(formats, s) {
		return fmt.Errorf("%.128q is none of %s", s, strings.Join(formats, ", "))
	}
	f.a.format, f.a.wide = table, s == "wide"
	if s == "json" {
		f.a.format = asJSON
	}
	return nil
}

// wanted is the format that args ask for, "" for none.
func wanted(args []string) (format string) {
	for i, arg := range args {
		switch arg {
		case "--":
			return format
		case "-o", "--output":
			if i+1 < len(args) {
				format = args[i+1]
			}
			continue
		}
		for _, prefix := range []string{"--output=", "-o=", "-o"} {
			if v, ok := strings.CutPrefix(arg, prefix); ok {
				format = v
				break
			}
		}
	}
	return format
}

// A screen is where output goes.
type screen struct {
	io.Writer
	tty    bool
	colour bool
	width  int // columns, 0 where lines are not to be cut
	height int // lines, 0 where nobody counts them
}

// newScreen returns the screen that w is. It is coloured where it is a terminal
// that knows colours, and nobody asked not to (NO_COLOR).
func newScreen(w io.Writer, env func(string) string) screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen{Writer: w}
	}
	s := screen{Writer: w, tty: true, width: 80, height: 24, colour: env("NO_COLOR") == "" && env("TERM") != "dumb"}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
		s.width, s.height = width, height
	}
	return s
}

// A colour is what is said with one.
type colour string

const (
	good    colour = "32" // green
	warning colour = "33" // yellow
	bad     colour = "31" // red
)

// paint returns text, which is plain, in a colour.
func (s screen) paint(c colour, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// oneByOne takes what several goroutines write, each Write whole.
type oneByOne struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneByOne) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

// fit cuts text to the columns that are left behind used ones.
func (s screen) fit(text string, used int) string {
	if s.width == 0 {
		return text
	}
	return cut(text, max(s.width-used, 8))
}

// printf prints a line of a person's output.
func (a *app) printf(form string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, form+"\n", args...)
	return err
}

// printJSON prints v as one line. RawMessages in it lose nothing but white
// space.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return a.printRaw(b.Bytes())
}

// printRaw prints JSON lines as they are; on a terminal, with what it would
// take for a command written as an escape, which means the same.
func (a *app) printRaw(b []byte) error {
	if a.stdout.tty {
		b = escapeJSON(b)
	}
	_, err := a.stdout.Write(b)
	return err
}

// print prints v with -o json, otherwise what text prints.
func (a *app) print(v any, text func() error) error {
	if a.format == asJSON {
		return a.printJSON(v)
	}
	return text()
}

// A grid lines up cells in columns. Cells may hold anything: they are made
// plain. The last of a row is cut at the screen's edge.
type grid struct {
	rows   [][]string
	screen screen
}

func (a *app) newGrid() *grid { return &grid{screen: a.stdout} }

func (g *grid) add(cells ...string) {
	for i := range cells {
		cells[i] = plain(cells[i])
	}
	g.rows = append(g.rows, cells)
}

const gap = 2

func (g *grid) flush() error {
	widths := g.widths()
	tw := tabwriter.NewWriter(g.screen, 0, 0, gap, ' ', 0)
	for _, row := range g.rows {
		last, used := len(row)-1, 0
		for i := range last {
			used += widths[i] + gap
		}
		row[last] = g.screen.fit(row[last], used)
		if _, err := fmt.Fprintln(tw, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// widths are those of all columns but a row's last, as tabwriter has it.
func (g *grid) widths() []int {
	var widths []int
	for _, row := range g.rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(cell))
		}
	}
	return widths
}

// notNil is s as JSON has it: a list, also where there is nothing.
func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
