package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A Progress shows on standard error how far long work is. On a terminal it is a
// bar, which makes room for everything else that the app prints. Elsewhere it is
// silent, or with LogLines prints a line every five seconds. With -o json it is
// always silent. Its methods can be called concurrently.
type Progress struct {
	what  string
	out   Screen
	now   func() time.Time
	every time.Duration // 0 if it is silent

	mu     sync.Mutex
	drawn  bool
	latest time.Time // of drawing
}

const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
	barWidth  = 20
)

// NewProgress starts a progress bar for the work called what, such as "verifying".
// The caller calls End. Only one can be in use at a time.
func (a *App) NewProgress(what string) *Progress {
	p := &Progress{what: what, out: a.Stderr, now: a.Now}
	if a.Stderr.TTY && a.Format == Table {
		p.every = barEvery
		a.Stdout.Writer, a.Stderr.Writer = &aboveBar{a.Stdout.Writer, p}, &aboveBar{a.Stderr.Writer, p}
	}
	return p
}

// LogLines prints the progress in lines if standard error is not a terminal.
func (p *Progress) LogLines(a *App) {
	if !a.Stderr.TTY && a.Format == Table {
		p.every, p.latest = lineEvery, p.now()
	}
}

// Step shows that done of total are finished. A total of 0 means unknown.
func (p *Progress) Step(done, total int) {
	if total <= 0 {
		p.show("", func() string { return fmt.Sprint(done) })
		return
	}
	p.Show(float64(done)/float64(total), func() string { return fmt.Sprintf("%d of %d", done, total) })
}

// Show shows that a part of the work is finished, from 0 to 1, with a text.
func (p *Progress) Show(part float64, text func() string) {
	full := min(max(int(part*barWidth), 0), barWidth)
	p.show("["+strings.Repeat("#", full)+strings.Repeat(".", barWidth-full)+"]  ", text)
}

func (p *Progress) show(bar string, text func() string) {
	if p.every == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if (p.drawn || !p.out.TTY) && now.Sub(p.latest) < p.every {
		return
	}
	p.latest = now
	if !p.out.TTY {
		fmt.Fprintf(p.out, "sessctl: %s\n", text())
		return
	}
	p.drawn = true
	fmt.Fprintf(p.out, "\r%s\x1b[K", p.out.Fit(p.what+"  "+bar+text(), 1))
}

// End removes the bar.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// aboveBar removes the bar before each write.
type aboveBar struct {
	io.Writer
	p *Progress
}

func (w *aboveBar) Write(b []byte) (int, error) {
	w.p.End()
	return w.Writer.Write(b)
}
