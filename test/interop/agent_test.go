package interop_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// nodeVersion is the Node.js that is downloaded if the machine's own is too old for an
// agent.
const nodeVersion = "22.23.3"

// An agent is a published version of a coding agent on this machine.
type agent struct {
	name    string // name in test names
	command string // name of its product
	dialect string // format that it writes
	profile string // dialect with its rules
	node    string // program that runs it
	module  string // module that it exports
	cli     string // command name
	opens   string // flag that continues a session file
	models  string // file in its directory that lists the models
}

func (a *agent) String() string { return a.name }

// newer reports whether a is pi 1.5.2, which writes more than 0.73.1.
func (a *agent) newer() bool { return a.name == "pi-1.5.2" }

// agents has the agents by name. Each is fetched once, even if that fails.
var agents = map[string]func() (*agent, error){
	"pi-0.73.1":  once(3*time.Minute, oldPi),
	"pi-1.5.2":   once(3*time.Minute, newPi),
	"omp-18.2.3": once(10*time.Minute, omp),
}

func once(within time.Duration, get func(context.Context) (*agent, error)) func() (*agent, error) {
	return sync.OnceValues(func() (*agent, error) {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		return get(ctx)
	})
}

// eachPi runs f as a subtest with each version of pi, in parallel.
func eachPi(t *testing.T, f func(t *testing.T, a *agent)) {
	t.Helper()
	each(t, []string{"pi-0.73.1", "pi-1.5.2"}, f)
}

// eachAgent is eachPi for behaviour that all agents share: with -long it runs with all
// of them, and else with the one that starts fastest.
func eachAgent(t *testing.T, f func(t *testing.T, a *agent)) {
	t.Helper()
	names := []string{"pi-1.5.2"}
	if *long {
		names = append(names, "pi-0.73.1", "omp-18.2.3")
	}
	each(t, names, f)
}

func each(t *testing.T, names []string, f func(t *testing.T, a *agent)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, fetched(t, name))
		})
	}
}

// fetched returns an agent, or skips the test if it is not available here.
func fetched(tb testing.TB, name string) *agent {
	tb.Helper()
	if testing.Short() {
		tb.Skip("agents are not fetched: -short is set")
	}
	a, err := agents[name]()
	if err != nil {
		tb.Skipf("no judge %s: %v", name, err)
	}
	return a
}

func oldPi(ctx context.Context) (*agent, error) {
	const version = "0.73.1"
	node, err := nodeSince(ctx, 20, 0)
	if err != nil {
		return nil, err
	}
	root, err := cached(ctx, "pi-"+version, func(dir string) error {
		return npm(ctx, dir, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "@mariozechner/pi-coding-agent@"+version)
	})
	dist := filepath.Join(root, "node_modules", "@mariozechner", "pi-coding-agent", "dist")
	return &agent{
		name: "pi-" + version, command: "pi", dialect: "pi", profile: "pi@0.73", node: node, opens: "--session", models: "models.json",
		module: filepath.Join(dist, "index.js"), cli: filepath.Join(dist, "cli.js"),
	}, err
}

// newPi unpacks the tarball of pi, which has everything it needs: npm cannot install
// it, since some packages that it names are not published.
func newPi(ctx context.Context) (*agent, error) {
	const version = "1.5.2"
	node, err := nodeSince(ctx, 22, 19)
	if err != nil {
		return nil, err
	}
	root, err := cached(ctx, "pi-"+version, func(dir string) error {
		return pack(ctx, dir, "@earendil-works/pi-coding-agent@"+version)
	})
	dist := filepath.Join(root, "package", "dist", "bundle")
	return &agent{
		name: "pi-" + version, command: "pi", dialect: "pi", profile: "pi", node: node, opens: "--session", models: "models.json",
		module: filepath.Join(dist, "index.js"), cli: filepath.Join(dist, "cli.js"),
	}, err
}

// nodeSince returns a Node.js of at least that version: the machine's, or a downloaded
// one.
func nodeSince(ctx context.Context, major, minor int) (string, error) {
	own, err := exec.LookPath("node")
	if err != nil {
		return "", errors.New("there is no node here")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("there is no npm here")
	}
	out, err := exec.CommandContext(ctx, own, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("node --version: %w", err)
	}
	parts := strings.SplitN(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".", 3)
	if len(parts) == 3 {
		a, _ := strconv.Atoi(parts[0])
		b, _ := strconv.Atoi(parts[1])
		if a > major || a == major && b >= minor {
			return own, nil
		}
	}
	arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok || runtime.GOOS == "windows" {
		return "", fmt.Errorf("node is %s, and no newer one is published for %s/%s", out, runtime.GOOS, runtime.GOARCH)
	}
	root, err := cached(ctx, "node-"+nodeVersion, func(dir string) error {
		return pack(ctx, dir, fmt.Sprintf("node-%s-%s@%s", runtime.GOOS, arch, nodeVersion))
	})
	return filepath.Join(root, "package", "bin", "node"), err
}

// cached returns the folder called name of the user's cache. If it is missing, fill
// makes it, atomically. Several processes may call it concurrently.
func cached(ctx context.Context, name string, fill func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	base := filepath.Join(cache, "sesslog-interop", runtime.GOOS+"-"+runtime.GOARCH)
	dir := filepath.Join(base, name)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process to fetch it: %w", err)
	}
	defer lock.Close()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err // another process fetched it
	}
	half, err := os.MkdirTemp(base, name+".*.half")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half)
	if err := fill(half); err != nil {
		return "", err
	}
	return dir, os.Rename(half, dir)
}

func npm(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "npm", append(args, "--fetch-retries=1")...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s %s: %w: %s", args[0], args[len(args)-1], err, complaint(out))
	}
	return nil
}

// complaint returns npm's error message on one line and without its stack.
func complaint(out []byte) string {
	var said []string
	for line := range strings.Lines(string(out)) {
		if rest, ok := strings.CutPrefix(line, "npm error "); ok && len(said) < 4 {
			said = append(said, strings.TrimSpace(rest))
		}
	}
	return strings.Join(said, ", ")
}

// pack unpacks a package of the registry into dir, without its dependencies.
func pack(ctx context.Context, dir, spec string) error {
	if err := npm(ctx, dir, "pack", "--ignore-scripts", spec); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("npm pack %s left %d archives: %w", spec, len(found), errors.Join(err, fs.ErrInvalid))
	}
	if err := unpack(found[0], dir); err != nil {
		return fmt.Errorf("unpack %s: %w", spec, err)
	}
	return os.Remove(found[0])
}

// unpack writes the files of an archive below dir only.
func unpack(archive, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := writeFile(root, h, r); err != nil {
			return err
		}
	}
}

func writeFile(root *os.Root, h *tar.Header, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(h.Name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode)&0o700|0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
