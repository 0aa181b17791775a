package write

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// A progress shows how far an import of many files is: a bar on a terminal, a
// line now and then elsewhere, nothing where nothing was asked for. Its methods
// may be called from several goroutines.
type progress struct {
	a      app
	silent bool
	files  int
	bytes  int64 // of all of them

	mu       sync.Mutex
	finished int
	failed   int
	sizes    int64 // of the finished files
	way      int64 // bytes on their way of the others
	next     time.Time
	every    time.Duration
	shown    int // columns of the bar that is there
}

const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

func (a app) newProgress(files []foundFile, quiet bool) *progress {
	p := &progress{a: a, silent: quiet || a.Format == cli.JSON, files: len(files), every: lineEvery}
	for _, f := range files {
		p.bytes += max(f.size, 0)
	}
	if a.Stderr.TTY {
		p.every = barEvery
	}
	p.next = a.Now().Add(p.every)
	return p
}

// sent says that n bytes of a file went to the node.
func (p *progress) sent(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.way += n
	p.show()
}

// done says that a file was brought, or was not.
func (p *progress) done(out brought) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
	p.sizes += max(out.file.size, 0)
	if out.err != nil {
		p.failed++
	}
	p.show()
}

// show shows how far it is, when the time for that has come.
func (p *progress) show() {
	if p.silent {
		return
	}
	now := p.a.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every)
	if !p.a.Stderr.TTY {
		fmt.Fprintf(p.a.Stderr, "sessctl: %s\n", p.text())
		return
	}
	line := bar(float64(p.finished)/float64(p.files), 20) + " " + p.text()
	line = p.a.Stderr.Fit(line, 1)
	fmt.Fprintf(p.a.Stderr, "\r%s%s", line, strings.Repeat(" ", max(0, p.shown-cli.Columns(line))))
	p.shown = cli.Columns(line)
}

func (p *progress) text() string {
	text := fmt.Sprintf("%d of %d files, %s of %s, %s sent", p.finished, p.files, cli.Bytes(p.sizes), cli.Bytes(p.bytes), cli.Bytes(p.way))
	if p.failed > 0 {
		text += fmt.Sprintf(", %d failed", p.failed)
	}
	return text
}

// clear takes the bar away, for a line to be printed.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hide()
}

// hide is clear with p.mu held.
func (p *progress) hide() {
	if p.shown > 0 {
		fmt.Fprintf(p.a.Stderr, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}

// bar is a bar of so many columns, filled to a part of it.
func bar(part float64, columns int) string {
	full := min(max(int(part*float64(columns)), 0), columns)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", columns-full) + "]"
}
