package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

func TestConfigPrintsEverySetting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := run(t.Context(), []string{"config", "--nats-listen", "127.0.0.1:4333"}, []string{
		"SESS_LISTEN=127.0.0.1:1", "SESS_TOKEN=hush", "SESS_NATS_TOKEN=hush",
		"SESS_URL=x", "SESS_WRITER=x", "SESS_BY=x", // settings of sessctl
	}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"listen: 127.0.0.1:1\n", "  listen: 127.0.0.1:4333\n", "SESS_BLOBS_S3_BUCKET", "--cluster-routes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "hush") {
		t.Error("the token is printed")
	}
	// The output is a valid configuration.
	file := filepath.Join(t.TempDir(), "sessnode.yaml")
	testkit.WriteFile(t, file, out.Bytes())
	var again bytes.Buffer
	if err := run(t.Context(), []string{"config", "--config", file, "--token", "x", "--nats-token", "x"}, nil, &again, io.Discard); err != nil || again.String() != out.String() {
		t.Errorf("reading it back prints\n%s\n%v", again.String(), err)
	}
}

func TestErrorNamesBadSetting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bad.yaml")
	testkit.WriteFile(t, file, []byte("lisen: x\n"))
	for name, c := range map[string]struct {
		args, env []string
		want      string
	}{
		"an unknown key":       {[]string{"--config", file}, nil, "lisen"},
		"a file that is not":   {[]string{"--config", "/no/such"}, nil, "/no/such"},
		"an unknown variable":  {nil, []string{"SESS_LISTN=x"}, "SESS_LISTN"},
		"an unknown flag":      {[]string{"--listn", "x"}, nil, "listn"},
		"a bad value":          {[]string{"--log-shards", "many"}, nil, "log-shards"},
		"a bad address":        {[]string{"--listen", "here"}, nil, "listen"},
		"an argument too many": {[]string{"now"}, nil, "now"},
		"open to the world":    {[]string{"--listen", "0.0.0.0:1"}, nil, "token"},
	} {
		err := run(t.Context(), append([]string{"--data", t.TempDir()}, c.args...), c.env, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to name %s", name, err, c.want)
		}
	}
}

func TestNodeStartsServesAndStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // the second start uses the data of the first
		ctx, stop := context.WithCancel(t.Context())
		r, w := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- run(ctx, []string{"--data", dir, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--logging-level", "warn"}, nil, w, t.Output())
			_ = w.Close()
		}()
		out := bufio.NewReader(r)
		ready, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("not ready: %v, %v", err, <-done)
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		url := strings.Fields(strings.TrimPrefix(ready, "sessnode ready: "))[0]
		for _, path := range []string{"/healthz", "/readyz", "/v1/status"} {
			res, err := http.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s answers %s", path, res.Status)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("stopped with %v", err)
		}
	}
}

func TestHelpListsSettingsOfTheNodeOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args     string
		settings bool
	}{{"--help", true}, {"bench --help", false}, {"bench append --help", false}, {"config --help", false}} {
		var out strings.Builder
		if err := run(t.Context(), strings.Fields(c.args), nil, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "--log-shards"); got != c.settings || !strings.Contains(out.String(), "Usage:\n  sessnode") {
			t.Errorf("sessnode %s:\n%s", c.args, out.String())
		}
	}
}
