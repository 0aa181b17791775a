package interop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// omp returns the newest version of which all parts are published. Those of 18.3.4 are
// not, and it does not start with other versions' parts. It runs on bun, which npm has
// as well.
func omp(ctx context.Context) (*agent, error) {
	const version, bun = "18.2.3", "1.4.5"
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, errors.New("there is no npm here")
	}
	arch, ok := map[string][2]string{"amd64": {"x64", "x64"}, "arm64": {"arm64", "aarch64"}}[runtime.GOARCH]
	if !ok || runtime.GOOS == "windows" {
		return nil, fmt.Errorf("omp is not published for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	// The optional packages are a gigabyte of speech and models. The native code is
	// optional as well, with one package per platform.
	root, err := cached(ctx, "omp-"+version, func(dir string) error {
		return npm(ctx, dir, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional",
			fmt.Sprintf("@oh-my-pi/pi-natives-%s-%s@%s", runtime.GOOS, arch[0], version),
			fmt.Sprintf("@oven/bun-%s-%s@%s", runtime.GOOS, arch[1], bun),
			"@oh-my-pi/pi-coding-agent@"+version)
	})
	modules := filepath.Join(root, "node_modules")
	omp := filepath.Join(modules, "@oh-my-pi", "pi-coding-agent")
	return &agent{
		name: "omp-" + version, command: "omp", dialect: "omp", profile: "omp", opens: "--resume", models: "models.yml",
		node:   filepath.Join(modules, "@oven", fmt.Sprintf("bun-%s-%s", runtime.GOOS, arch[1]), "bin", "bun"),
		module: filepath.Join(omp, "src", "session", "session-manager.ts"), cli: filepath.Join(omp, "dist", "cli.js"),
	}, err
}

// omp's own parser reads our exports: it finds the entries, tree, leaf and name that
// the node reports, and builds the same context at every entry.
func TestOmpReadsSessions(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("omp is half a gigabyte to fetch: -long is not set")
	}
	c := newCourt(t, fetched(t, "omp-18.2.3"))
	first, n := uint64(rand.Uint32()), *sessions
	if *seed != 0 {
		first, n = *seed, 1
	}
	for at := first; at-first < n && !t.Failed(); at++ {
		t.Logf("seed %d", at)
		s, rng := generate(at, c.agent), rand.New(rand.NewPCG(at, 1))
		id := c.imports(t, s.file, -1)
		c.append(t, id, rng)
		file := c.exports(t, id)
		path := filepath.Join(c.dir, "session.jsonl")
		testkit.WriteFile(t, path, file)
		c.agree(t, id, path, file, rng)
	}
	t.Logf("%s judged %d sessions in %d contexts", c.agent, n, c.contexts)
}
