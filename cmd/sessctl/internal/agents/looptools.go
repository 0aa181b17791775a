package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/modelproc"
	"github.com/sesslog/sesslog/session/loop/sandbox"
)

// loopConfig returns the model and the tools that the flags name. Both print to out.
func (a app) loopConfig(f loopFlags, out *loopPrinter) (c loop.Config, closeTools func(), err error) {
	backend := "local"
	if f.Image != "" {
		backend = "container"
	}
	slot := sandbox.New(map[string]sandbox.Opener{"local": sandbox.Local, "container": sandbox.Container{Image: f.Image}.Open})
	if err := slot.To(backend, sandbox.Spec{Dir: f.Dir}); err != nil {
		return c, nil, err
	}
	all, err := sandbox.Tools(slot)
	if err != nil {
		return c, nil, err
	}
	for _, name := range f.Tools {
		i := slices.IndexFunc(all, func(t loop.Tool) bool { return t.Name == name })
		if i < 0 {
			return c, nil, cli.Usagef("there is no tool %.128q; the tools are read, write and bash", name)
		}
		c.Tools = append(c.Tools, out.noted(all[i]))
	}
	program, err := findModel()
	if err != nil {
		return c, nil, err
	}
	c.Model = modelproc.New(program, f.Model)
	if a.Format == cli.Table {
		c.OnDelta = out.show
	}
	return c, func() { _ = slot.Close() }, nil // closing a directory changes nothing
}

// A loopPrinter prints what an agent says and does.
type loopPrinter struct {
	app
	shown bool // something was said
	inner bool // its last line has no end yet
}

func (p *loopPrinter) show(d loop.Delta) {
	if d.Text == "" {
		return
	}
	fmt.Fprint(p.Stdout, cli.PlainLines(d.Text))
	p.shown, p.inner = true, !strings.HasSuffix(d.Text, "\n")
}

func (p *loopPrinter) endLine() {
	if p.inner {
		fmt.Fprintln(p.Stdout)
		p.inner = false
	}
}

// noted returns a tool that prints its calls, of which one is under way at a time.
func (p *loopPrinter) noted(t loop.Tool) loop.Tool {
	run := t.Run
	t.Run = func(ctx context.Context, arguments json.RawMessage) (any, error) {
		p.endLine()
		p.Notef("%s", p.Stderr.Fit(cli.Plain(t.Name+" "+string(arguments)), len("sessctl: ")))
		return run(ctx, arguments)
	}
	return t
}

// findModel returns the path of sessmodel: beside this program, or in PATH.
func findModel() (string, error) {
	name := "sessmodel"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", cli.Hintf(fmt.Errorf("%s is neither beside sessctl nor in PATH: %w", name, core.ErrNotFound), "install it beside sessctl: it is in the same archive")
	}
	return path, nil
}
