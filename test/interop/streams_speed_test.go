//go:build unix

package interop_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/internal/bench"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

const (
	streamWriters  = 64
	streamsMeasure = 3 * time.Second
)

// Both store each append in a file before they answer. The figures are printed, and no
// limit is checked: they depend on the machine.
func TestDurableStreamsSuiteSpeed(t *testing.T) {
	if !*suites {
		t.Skip("only with -args -suites")
	}
	server := published(t, "durable-streams-server-0.3.7", func(dir string) string {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@durable-streams", "server"))
		return strings.Join(found, "")
	}, "@durable-streams/server@0.3.7")
	theirs := appendsPerSecond(t, startNPMStreams(t, filepath.Join(server, "..", "..", "..")))
	ours := appendsPerSecond(t, harness.StartNode(t).Client().Base+"/v1/stream")
	t.Logf("durable-streams: appends of %d writers: %.0f/s, its npm server %.0f/s: %.1f ×", streamWriters, ours, theirs, ours/theirs)
}

// startNPMStreams starts the reference server with storage in files, and returns its URL.
func startNPMStreams(t *testing.T, modules string) string {
	t.Helper()
	script := `import { DurableStreamTestServer } from "@durable-streams/server"
console.log("url " + await new DurableStreamTestServer({ port: 0, host: "127.0.0.1", dataDir: process.env.DATA }).start())`
	path := filepath.Join(t.TempDir(), "server.mjs")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(filepath.Dir(path), "node_modules")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "node", path)
	cmd.Env = append(os.Environ(), "DATA="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "url "); ok {
			return url
		}
	}
	t.Fatalf("the server did not start: %v", lines.Err())
	return ""
}

// appendsPerSecond lets each writer append to a separate stream.
func appendsPerSecond(t *testing.T, base string) float64 {
	t.Helper()
	var writers errgroup.Group
	var n atomic.Int64
	start := time.Now()
	for i := range streamWriters {
		writers.Go(func() error {
			p, err := openStream(t.Context(), fmt.Sprintf("%s/speed/%d", base, i))
			if err != nil {
				return err
			}
			defer p.Close()
			body := []byte(strings.Repeat("x", 100))
			for ; err == nil && time.Since(start) < streamsMeasure; n.Add(1) {
				err = p.Post(body)
			}
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	return float64(n.Load()) / time.Since(start).Seconds()
}

// openStream creates a stream, and returns what appends to it.
func openStream(ctx context.Context, url string) (*bench.Poster, error) {
	const text = "text/plain"
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", text)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("PUT %s: %s", url, resp.Status)
	}
	return bench.NewPoster(ctx, url, text)
}
