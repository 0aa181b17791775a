package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A progress says on standard error how far long work is, in a line that goes
// when the work is done. Where that is no terminal, and for programs, it says
// nothing. Its methods may be called from several goroutines.
type progress struct {
	a     *app
	what  string
	out   screen
	close func() // gives the app its screens back

	mu     sync.Mutex
	drawn  bool
	latest time.Time // of drawing
}

// progressEvery is how often the line is drawn anew.
const progressEvery = 100 * time.Millisecond

// barWidth is that of the bar alone.
const barWidth = 20

// progress begins to say how far the work called what is. What the app prints
// meanwhile takes the line's place. The caller ends it.
func (a *app) progress(what string) *progress {
	p := &progress{a: a, what: what, out: a.stderr, close: func() {}}
	if !a.stderr.tty || a.format != table {
		return p
	}
	stdout, stderr := a.stdout, a.stderr
	a.stdout.Writer, a.stderr.Writer = &besides{stdout.Writer, p}, &besides{stderr.Writer, p}
	p.close = func() { a.stdout, a.stderr = stdout, stderr }
	return p
}

// step says that so much is done, of a total of 0 where nobody knows.
func (p *progress) step(done, total int) {
	if !p.out.tty || p.a.format != table {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.a.now()
	if p.drawn && now.Sub(p.latest) < progressEvery {
		return
	}
	p.drawn, p.latest = true, now
	fmt.Fprintf(p.out, "\r%s\x1b[K", p.out.fit(p.text(done, total), 1))
}

func (p *progress) text(done, total int) string {
	if total <= 0 {
		return fmt.Sprintf("%s  %d", p.what, done)
	}
	full := barWidth * min(done, total) / total
	return fmt.Sprintf("%s  [%s%s]  %d of %d", p.what, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, total)
}

// hide takes the line away.
func (p *progress) hide() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.drawn = false
	}
}

// end takes the line away for good.
func (p *progress) end() {
	p.hide()
	p.close()
}

// besides is where something else is written while a progress is shown.
type besides struct {
	io.Writer
	p *progress
}

func (w *besides) Write(b []byte) (int, error) {
	w.p.hide()
	return w.Writer.Write(b)
}
