package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A meter says on standard error how far long work is, in a line that goes
// when the work is done. Where that is no terminal, and for programs, it says
// nothing. Its methods may be called from several goroutines.
type meter struct {
	a     *App
	what  string
	out   Screen
	close func() // gives the app its screens back

	mu     sync.Mutex
	drawn  bool
	latest time.Time // of drawing
}

// meterEvery is how often the line is drawn anew.
const meterEvery = 100 * time.Millisecond

// barWidth is that of the bar alone.
const barWidth = 20

// Meter begins to say how far the work called what is. What the app prints
// meanwhile takes the line's place. The caller ends it.
func (a *App) Meter(what string) *meter {
	m := &meter{a: a, what: what, out: a.Stderr, close: func() {}}
	if !a.Stderr.TTY || a.Format != Table {
		return m
	}
	stdout, stderr := a.Stdout, a.Stderr
	a.Stdout.Writer, a.Stderr.Writer = &Besides{stdout.Writer, m}, &Besides{stderr.Writer, m}
	m.close = func() { a.Stdout, a.Stderr = stdout, stderr }
	return m
}

// Step says that so much is done, of a total of 0 where nobody knows.
func (m *meter) Step(done, total int) {
	if !m.out.TTY || m.a.Format != Table {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.a.Now()
	if m.drawn && now.Sub(m.latest) < meterEvery {
		return
	}
	m.drawn, m.latest = true, now
	fmt.Fprintf(m.out, "\r%s\x1b[K", m.out.Fit(m.text(done, total), 1))
}

func (m *meter) text(done, total int) string {
	if total <= 0 {
		return fmt.Sprintf("%s  %d", m.what, done)
	}
	full := barWidth * min(done, total) / total
	return fmt.Sprintf("%s  [%s%s]  %d of %d", m.what, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total)
}

// hide takes the line away.
func (m *meter) hide() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drawn {
		fmt.Fprint(m.out, "\r\x1b[K")
		m.drawn = false
	}
}

// End takes the line away for good.
func (m *meter) End() {
	m.hide()
	m.close()
}

// Besides is where something else is written while a meter is shown.
type Besides struct {
	io.Writer
	m *meter
}

func (w *Besides) Write(b []byte) (int, error) {
	w.m.hide()
	return w.Writer.Write(b)
}
