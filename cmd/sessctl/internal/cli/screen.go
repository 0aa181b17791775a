package cli

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// A Screen is a destination of output.
type Screen struct {
	io.Writer
	TTY    bool
	Width  int // columns, 0 if lines are not cut
	Height int // lines, 0 if unknown

	Colors bool
}

// newScreen returns the screen for w. It has colors if it is a terminal that
// supports them, unless NO_COLOR is set.
func newScreen(w io.Writer, env func(string) string) Screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Screen{Writer: w}
	}
	s := Screen{Writer: w, TTY: true, Width: 80, Height: 24, Colors: env("NO_COLOR") == "" && env("TERM") != "dumb"}
	if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
		s.Width, s.Height = width, height
	}
	return s
}

// A Color is a color or style of ANSI terminals.
type Color string

// The colors of results, and what they mean everywhere.
const (
	Green     Color = "32" // well, or active now
	Yellow    Color = "33" // an id, or a warning
	Red       Color = "31" // an error
	Cyan      Color = "36" // an agent, or who speaks
	Dim       Color = "2"  // less important: times, places
	Bold      Color = "1"  // a heading
	Underline Color = "4"  // a word that was searched for
)

// Paint returns plain text in a color, if the screen has colors.
func (s Screen) Paint(c Color, text string) string {
	if !s.Colors || c == "" || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Fit cuts text to the columns that remain after used ones.
func (s Screen) Fit(text string, used int) string {
	if s.Width == 0 {
		return text
	}
	return Cut(text, max(s.Width-used, 8))
}

// A lockedWriter makes concurrent writes atomic.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
