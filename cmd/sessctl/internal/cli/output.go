package cli

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
	Table format = "table"
	JSON  format = "json"
)

// Formats are what -o takes.
var Formats = []string{"table", "wide", "json"}

// outputFlag is -o. wide is a table that is not cut and has more columns.
type outputFlag struct{ a *App }

func (f outputFlag) String() string {
	switch {
	case f.a == nil: // pflag asks a zero value what the default is
		return string(Table)
	case f.a.Wide:
		return "wide"
	}
	return string(f.a.Format)
}

func (outputFlag) Type() string { return "format" }

func (f outputFlag) Set(s string) error {
	if !slices.Contains(Formats, s) {
		return fmt.Errorf("%.128q is none of %s", s, strings.Join(Formats, ", "))
	}
	f.a.Format, f.a.Wide = Table, s == "wide"
	if s == "json" {
		f.a.Format = JSON
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

// A Screen is where output goes.
type Screen struct {
	io.Writer
	TTY    bool
	Colour bool
	Width  int // columns, 0 where lines are not to be cut
	Height int // lines, 0 where nobody counts them
}

// newScreen returns the screen that w is. It is coloured where it is a terminal
// that knows colours, and nobody asked not to (NO_COLOR).
func newScreen(w io.Writer, env func(string) string) Screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Screen{Writer: w}
	}
	s := Screen{Writer: w, TTY: true, Width: 80, Height: 24, Colour: env("NO_COLOR") == "" && env("TERM") != "dumb"}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
		s.Width, s.Height = width, height
	}
	return s
}

// A Colour is what is said with one.
type Colour string

const (
	Good    Colour = "32" // green
	Warning Colour = "33" // yellow
	Bad     Colour = "31" // red
)

// Paint returns text, which is plain, in a colour.
func (s Screen) Paint(c Colour, text string) string {
	if !s.Colour {
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

// Fit cuts text to the columns that are left behind used ones.
func (s Screen) Fit(text string, used int) string {
	if s.Width == 0 {
		return text
	}
	return Cut(text, max(s.Width-used, 8))
}

// Printf prints a line of a person's output.
func (a *App) Printf(form string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, form+"\n", args...)
	return err
}

// PrintJSON prints v as one line. RawMessages in it lose nothing but white
// space.
func (a *App) PrintJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return a.PrintRaw(b.Bytes())
}

// PrintRaw prints JSON lines as they are; on a terminal, with what it would
// take for a command written as an escape, which means the same.
func (a *App) PrintRaw(b []byte) error {
	if a.Stdout.TTY {
		b = EscapeJSON(b)
	}
	_, err := a.Stdout.Write(b)
	return err
}

// Print prints v with -o json, otherwise what text prints.
func (a *App) Print(v any, text func() error) error {
	if a.Format == JSON {
		return a.PrintJSON(v)
	}
	return text()
}

// A Grid lines up cells in columns. Cells may hold anything: they are made
// plain. The last of a row is cut at the screen's edge.
type Grid struct {
	Rows   [][]string
	screen Screen
}

func (a *App) NewGrid() *Grid { return &Grid{screen: a.Stdout} }

func (g *Grid) Row(cells ...string) {
	for i := range cells {
		cells[i] = Plain(cells[i])
	}
	g.Rows = append(g.Rows, cells)
}

const Gap = 2

func (g *Grid) Flush() error {
	widths := g.widths()
	tw := tabwriter.NewWriter(g.screen, 0, 0, Gap, ' ', 0)
	for _, row := range g.Rows {
		last, used := len(row)-1, 0
		for i := range last {
			used += widths[i] + Gap
		}
		row[last] = g.screen.Fit(row[last], used)
		if _, err := fmt.Fprintln(tw, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// widths are those of all columns but a row's last, as tabwriter has it.
func (g *Grid) widths() []int {
	var widths []int
	for _, row := range g.Rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Columns(cell))
		}
	}
	return widths
}

// NotNil is s as JSON has it: a list, also where there is nothing.
func NotNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
