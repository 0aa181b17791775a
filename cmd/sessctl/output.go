package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/term"
)

// A format is how results are printed; it is a flag.
type format string

const (
	table  format = "table"
	asJSON format = "json"
)

func (f *format) String() string { return string(*f) }
func (*format) Type() string     { return "format" }

func (f *format) Set(s string) error {
	switch format(s) {
	case table, asJSON:
		*f = format(s)
		return nil
	}
	return fmt.Errorf("%.128q is neither table nor json", s)
}

// wantsJSON reports whether args ask for JSON.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "-ojson", "-o=json", "--output=json":
			return true
		case "-o", "--output":
			if i+1 < len(args) && args[i+1] == "json" {
				return true
			}
		}
	}
	return false
}

// A screen is where output goes. Nothing is coloured, whatever it is.
type screen struct {
	io.Writer
	tty   bool
	width int // columns, 0 where lines are not to be cut
}

func newScreen(w io.Writer) screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen{Writer: w}
	}
	s := screen{Writer: w, tty: true, width: 80}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		s.width = width
	}
	return s
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

// when is a time as people on this host read it: short.
func (a *app) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t, now := t.Local(), a.now().Local()
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format("15:04:05")
	case t.Year() == now.Year():
		return t.Format("Jan 02 15:04")
	}
	return t.Format("2006-01-02")
}

// whenText is when for a time that an agent wrote.
func (a *app) whenText(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return a.when(t)
}

// count is n things, in words.
func count[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return count(n, "byte", "bytes")
	}
	size, suffix := float64(n)/unit, 0
	for size >= unit && suffix < len("KMGTPE")-1 {
		size /= unit
		suffix++
	}
	return strings.Replace(fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[suffix]), ".0 ", " ", 1)
}
