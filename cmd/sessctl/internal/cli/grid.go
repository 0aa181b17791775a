package cli

import (
	"io"
	"strings"
)

// A Grid prints rows of cells in columns. Rows may differ in length.
type Grid struct {
	rows   [][]string
	screen Screen
}

// Gap is the number of spaces between two columns.
const Gap = 2

// NewGrid returns an empty grid for standard output.
func (a *App) NewGrid() *Grid { return &Grid{screen: a.Stdout} }

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

// Flush prints the rows. The last cell of a row is cut at the edge of the screen.
func (g *Grid) Flush() error {
	widths := g.widths()
	var b strings.Builder
	for _, row := range g.rows {
		last, used := len(row)-1, 0
		for i, cell := range row[:last] {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-Columns(cell)+Gap))
			used += widths[i] + Gap
		}
		b.WriteString(g.screen.Fit(row[last], used) + "\n")
	}
	_, err := io.WriteString(g.screen, b.String())
	return err
}

// widths returns the widths of the columns, without the last cells of rows.
func (g *Grid) widths() []int {
	var widths []int
	for _, row := range g.rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Columns(cell))
		}
	}
	return widths
}
