package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sesslog/sesslog/session/loop"
)

const (
	defaultTimeout = 2 * time.Minute
	maxOutput      = 64_000 // bytes of each output of a command: of its begin and its end, half each
	maxRead        = 64_000 // bytes of a file, of which a model gets 12,000 characters
	afterExit      = time.Second
)

// Local opens a directory of this host, which must exist. Closing it changes nothing
// there.
func Local(_ context.Context, spec Spec) (Box, error) { return open(spec) }

func open(spec Spec) (*local, error) {
	dir, err := filepath.Abs(spec.Dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	spec.Dir, spec.Timeout = dir, cmp.Or(spec.Timeout, defaultTimeout)
	b := &local{spec: spec, root: root}
	b.command = b.shell
	return b, nil
}

type local struct {
	spec Spec
	root *os.Root
	// command returns the process of a command of the shell, and what ends all that is
	// left of it.
	command func(ctx context.Context, sh string) (c *exec.Cmd, end func())
}

func (b *local) Close() error { return b.root.Close() }

// Run implements Box. When the command ends, the processes that it left in its group
// are killed.
func (b *local) Run(ctx context.Context, command string) (loop.Command, error) {
	if _, err := b.root.Stat("."); err != nil { // it is closed
		return loop.Command{}, err
	}
	limited, cancel := context.WithTimeout(ctx, b.spec.Timeout)
	defer cancel()
	c, end := b.command(limited, command)
	var stdout, stderr limitedBuffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.WaitDelay = afterExit
	began := time.Now()
	err := c.Run()
	end()
	result := loop.Command{Stdout: stdout.String(), Stderr: stderr.String(), ElapsedMS: float64(time.Since(began).Microseconds()) / 1000}
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case limited.Err() != nil:
		return result, &loop.Failure{Kind: "timeout", Message: fmt.Sprintf("the command did not end within %v and was killed", b.spec.Timeout), Detail: result.Stdout + result.Stderr}
	case err != nil && !exited && !errors.Is(err, exec.ErrWaitDelay):
		return result, err
	}
	result.ExitCode = c.ProcessState.ExitCode()
	return result, nil
}

func (b *local) shell(ctx context.Context, sh string) (*exec.Cmd, func()) {
	c := exec.CommandContext(ctx, "/bin/sh", "-c", b.limits()+sh)
	c.Dir, c.Env = b.spec.Dir, b.env()
	inGroup(c)
	return c, func() { killGroup(c) }
}

// limits returns the commands of the shell that set the limits.
func (b *local) limits() (sh string) {
	for _, l := range []struct {
		flag string
		n    int64
	}{
		{"-t", int64((b.spec.CPU + time.Second - 1) / time.Second)}, // seconds
		{"-v", b.spec.Memory >> 10},                                 // KiB
		{"-f", (b.spec.File + 511) / 512},                           // blocks
	} {
		if l.n > 0 {
			sh += fmt.Sprintf("ulimit %s %d || exit 125\n", l.flag, l.n)
		}
	}
	return sh
}

// env returns the environment of commands. Keys of the host's own programs, such as
// that of the model, are not in it.
func (b *local) env() (env []string) {
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, b.spec.Env...)
}

// Read implements Box.
func (b *local) Read(name string) (loop.File, error) {
	name, err := b.below(name)
	if err != nil {
		return loop.File{}, err
	}
	if err := b.regular(name); err != nil {
		return loop.File{}, err
	}
	f, err := b.root.Open(name)
	if err != nil {
		return loop.File{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	return loop.File{Data: string(data)}, err
}

// Write implements Box. It makes the directories of the file.
func (b *local) Write(name string, data []byte) (loop.Written, error) {
	name, err := b.below(name)
	if err == nil {
		if err = b.regular(name); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = b.root.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = b.root.WriteFile(name, data, 0o644)
	}
	return loop.Written{Bytes: int64(len(data))}, err
}

// regular returns an error unless a file is a regular one. Opening a pipe would wait.
func (b *local) regular(name string) error {
	info, err := b.root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	return err
}

// below returns the name of a file relative to the directory. The root refuses names
// and links that lead out of it.
func (b *local) below(name string) (string, error) {
	if !filepath.IsAbs(name) {
		return name, nil
	}
	return filepath.Rel(b.spec.Dir, name)
}

// A limitedBuffer keeps the begin and the end of what is written, together maxOutput
// bytes: a model has no room for more, and the end of a log says what failed.
type limitedBuffer struct {
	begin, end []byte
	lost       int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), maxOutput/2-len(b.begin))
	b.begin = append(b.begin, p[:n]...)
	b.end = append(b.end, p[n:]...)
	if more := len(b.end) - maxOutput/2; more > 0 {
		b.end = append(b.end[:0], b.end[more:]...)
		b.lost += more
	}
	return len(p), nil
}

func (b *limitedBuffer) String() string {
	if b.lost == 0 {
		return string(b.begin) + string(b.end)
	}
	return fmt.Sprintf("%s\n...(%d bytes are left out)...\n%s", b.begin, b.lost, b.end)
}
