package write

import (
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

// An importProgress counts the files and bytes of an import. Its methods can be
// called concurrently.
type importProgress struct {
	a     app
	bar   *cli.Progress // nil if it is silent
	files int
	bytes int64 // of all files

	mu       sync.Mutex
	finished int
	failed   int
	sizes    int64 // of the finished files
	moved    int64 // bytes sent to the node
}

func (a app) newProgress(files []foundFile, quiet bool) *importProgress {
	p := &importProgress{a: a, files: len(files)}
	for _, f := range files {
		p.bytes += max(f.size, 0)
	}
	if !quiet {
		p.bar = a.NewProgress("importing")
		p.bar.LogLines(a.App)
	}
	return p
}

// sent counts n bytes that went to the node.
func (p *importProgress) sent(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved += n
	p.show()
}

// done counts a file that was imported or failed.
func (p *importProgress) done(out importResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished++
	p.sizes += max(out.file.size, 0)
	if out.err != nil {
		p.failed++
	}
	p.show()
}

func (p *importProgress) show() {
	if p.bar != nil {
		p.bar.Show(float64(p.finished)/float64(p.files), p.text)
	}
}

func (p *importProgress) text() string {
	text := fmt.Sprintf("%d of %d files, %s of %s, %s sent", p.finished, p.files, cli.Bytes(p.sizes), cli.Bytes(p.bytes), cli.Bytes(p.moved))
	if p.failed > 0 {
		text += fmt.Sprintf(", %d failed", p.failed)
	}
	return text
}

// end removes the bar.
func (p *importProgress) end() {
	if p.bar != nil {
		p.bar.End()
	}
}
