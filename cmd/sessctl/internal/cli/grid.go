package cli

import (
	"io"
	"slices"
	"strings"
)

// A Grid prints rows of cells in columns. Rows may differ in length.
type Grid struct {
	rows   [][]string
	colors []Color
	screen Screen
}

// Gap is the number of spaces between two columns.
const Gap = 2

// NewGrid returns an empty grid for standard output.
func (a *App) NewGrid() *Grid { return &Grid{screen: a.Stdout} }

// Colors sets the colors of the columns. The first row is a heading, in bold.
func (g *Grid) Colors(cs ...Color) { g.colors = cs }

// Row adds a row of at least one cell. Cells are made plain.
func (g *Grid) Row(cells ...string) {
	for i := range cells {
		cells[i] = Plain(cells[i])
	}
	g.rows = append(g.rows, cells)
}

// RowIf adds a row with a name and a value, unless the value is empty.
func (g *Grid) RowIf(name, value string) {
	if value != "" {
		g.Row(name, value)
	}
}

// Len returns the number of rows.
func (g *Grid) Len() int { return len(g.rows) }

// FirstWidth returns the width of the first column.
func (g *Grid) FirstWidth() (n int) {
	for _, row := range g.rows {
		n = max(n, Columns(row[0]))
	}
	return n
}

// DropEmpty removes the columns that are empty in all rows but the first, the
// heading. All rows must have the same length.
func (g *Grid) DropEmpty() {
	var keep []int
	for i := range g.rows[0] {
		if slices.ContainsFunc(g.rows[1:], func(row []string) bool { return row[i] != "" }) {
			keep = append(keep, i)
		}
	}
	for r, row := range g.rows {
		g.rows[r] = pick(row, keep)
	}
	if g.colors != nil {
		g.colors = pick(g.colors, keep)
	}
}

// pick returns the elements of s at the indexes.
func pick[T any](s []T, indexes []int) []T {
	out := make([]T, 0, len(indexes))
	for _, i := range indexes {
		out = append(out, s[i])
	}
	return out
}

// Flush prints the rows.
func (g *Grid) Flush() error {
	_, err := io.WriteString(g.screen, g.String())
	return err
}

// String returns the lines of the rows. On a screen that is too narrow, the widest
// cells are cut.
func (g *Grid) String() string {
	widths := g.widths()
	var b strings.Builder
	for r, row := range g.rows {
		last, used := len(row)-1, 0
		for i, cell := range row[:last] {
			cell = Cut(cell, widths[i])
			b.WriteString(g.paint(r, i, cell) + strings.Repeat(" ", widths[i]-Columns(cell)+Gap))
			used += widths[i] + Gap
		}
		b.WriteString(g.paint(r, last, g.screen.Fit(row[last], used)) + "\n")
	}
	return b.String()
}

func (g *Grid) paint(row, column int, cell string) string {
	switch {
	case g.colors == nil:
		return cell
	case row == 0:
		return g.screen.Paint(Bold, cell)
	}
	return g.screen.Paint(g.colors[column], cell)
}

// narrow makes the widest columns narrower until there is room for the last one. The
// first column names the row, and is cut only if it is very wide.
func (g *Grid) narrow(widths []int, total int) {
	room := g.screen.Width - min(minLast, g.lastWidth())
	for g.screen.Width > 0 && len(widths) > 1 && total > room {
		widest := 1 + slices.Index(widths[1:], slices.Max(widths[1:]))
		if widths[0] > maxFirst && widths[0] > widths[widest] {
			widest = 0
		}
		if widths[widest] <= minColumn {
			return
		}
		widths[widest]--
		total--
	}
}

// Columns that are narrower than minColumn are not narrowed, and neither is a first
// one of maxFirst: what ls shows of an id. The last column gets at least minLast, if
// it needs so much.
const (
	minColumn = 10
	maxFirst  = 16
	minLast   = 24
)

// lastWidth returns the width of the widest last cell.
func (g *Grid) lastWidth() (n int) {
	for _, row := range g.rows {
		n = max(n, Columns(row[len(row)-1]))
	}
	return n
}

// widths returns the widths of the columns, without the last cells of rows.
func (g *Grid) widths() []int {
	var widths []int
	total := 0
	for _, row := range g.rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
				total += Gap
			}
			if more := Columns(cell) - widths[i]; more > 0 {
				widths[i] += more
				total += more
			}
		}
	}
	g.narrow(widths, total)
	return widths
}
