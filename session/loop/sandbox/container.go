package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/session/loop"
)

// A Container is a directory of this host whose commands run in containers, by the
// command-line client of Docker or another program that takes the same arguments. The
// daemon must be on this host, or see the directory at the same path. Each command has
// a separate container, so of what it changes, only the directory remains.
type Container struct {
	Image   string
	Program string // default docker
}

// removeWithin is how long the removal of a container may take.
const removeWithin = 10 * time.Second

// Open is an Opener. It fails if the daemon cannot be reached.
func (c Container) Open(ctx context.Context, spec Spec) (Box, error) {
	c.Program = cmp.Or(c.Program, "docker")
	b, err := open(spec)
	if err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, c.Program, "version").CombinedOutput(); err != nil {
		b.Close()
		return nil, fmt.Errorf("%s version: %w: %.200s", c.Program, err, out)
	}
	if strings.ContainsAny(b.spec.Dir, `,"`) {
		b.Close()
		return nil, fmt.Errorf("the path of directory %s has a comma or a quote, which mounts cannot have", b.spec.Dir)
	}
	b.command = func(ctx context.Context, sh string) (*exec.Cmd, func()) { return c.run(ctx, b.spec, sh) }
	return &contained{b}, nil
}

// run returns the client that runs a command. Removing the container ends all of its
// processes, and with them the client.
func (c Container) run(ctx context.Context, spec Spec, sh string) (*exec.Cmd, func()) {
	name := "sesslog-" + strings.ToLower(rand.Text())
	cmd := exec.CommandContext(ctx, c.Program, c.args(spec, name, sh)...)
	remove := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
		defer cancel()
		return exec.CommandContext(ctx, c.Program, "rm", "--force", name).Run()
	}
	cmd.Cancel = remove
	return cmd, func() { _ = remove() } // as a rule it is gone
}

func (c Container) args(spec Spec, name, sh string) []string {
	args := []string{
		"run", "--rm", "--init", "--name", name, "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--mount", "type=bind,source=" + spec.Dir + ",target=" + spec.Dir, "--workdir", spec.Dir,
	}
	if uid := os.Getuid(); uid >= 0 {
		args = append(args, "--user", fmt.Sprintf("%d:%d", uid, os.Getgid()))
	}
	for _, e := range spec.Env {
		args = append(args, "--env", e)
	}
	for _, l := range []struct {
		flag, prefix string
		n            int64
	}{
		{"--ulimit", "cpu=", int64((spec.CPU + time.Second - 1) / time.Second)},
		{"--ulimit", "fsize=", spec.File},
		{"--memory", "", spec.Memory},
	} {
		if l.n > 0 {
			args = append(args, l.flag, l.prefix+strconv.FormatInt(l.n, 10))
		}
	}
	return append(args, "--entrypoint", "/bin/sh", c.Image, "-c", sh)
}

// contained is a local whose commands run in containers.
type contained struct{ *local }

// notRun is the exit code of a client that could not run a command.
const notRun = 125

// Run implements Box.
func (b *contained) Run(ctx context.Context, command string) (loop.Command, error) {
	r, err := b.local.Run(ctx, command)
	if err == nil && r.ExitCode == notRun {
		err = errors.New("the container did not start: " + strings.TrimSpace(r.Stderr))
	}
	return r, err
}
