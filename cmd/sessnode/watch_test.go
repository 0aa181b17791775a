package main

import (
	"context"
	"crypto/tls"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/pki"
)

const watchedID = "0199aaaa-0000-7000-8000-000000000001"

// A node follows agents' files with every combination of token, client certificate
// and TLS.
func TestNodeFollowsFilesWithAnyAuthentication(t *testing.T) {
	t.Parallel()
	ca := pki.New(t, "ca")
	pair := ca.Pair(t, "node")
	secure := []string{"--tls-cert", pair.Cert, "--tls-key", pair.Key}
	shown := append([]string{"--tls-client-ca", ca.File, "--tls-subjects", "ops=admin"}, secure...)
	token := []string{"SESS_TOKEN=a-token-of-the-test"}
	for _, c := range []struct {
		name      string
		args, env []string
		token     string
		tls       *tls.Config
	}{
		{name: "nothing"},
		{name: "a token", env: token, token: "a-token-of-the-test"},
		{name: "TLS", args: secure, tls: ca.Client(t)},
		{name: "TLS and a token", args: secure, env: token, token: "a-token-of-the-test", tls: ca.Client(t)},
		{name: "a certificate alone", args: shown, tls: ca.Client(t, ca.Pair(t, "ops"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			url := serveIn(t, append([]string{"--watch-roots", dir}, c.args...), c.env)
			file := strings.Join([]string{
				`{"type":"session","version":3,"id":"` + watchedID + `","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`,
				`{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":1}}`,
				"",
			}, "\n")
			testkit.WriteFile(t, filepath.Join(dir, "a.jsonl"), []byte(file))
			node := dial(t, url, c.token, c.tls)
			await(t, "the file in the log", func() error { return has(t.Context(), node, file) })
		})
	}
}

// has returns nil if the session in the log equals file.
func has(ctx context.Context, node *client.Client, file string) error {
	r, err := node.Export(ctx, watchedID, false)
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err == nil && string(b) != file {
		err = io.ErrUnexpectedEOF
	}
	return err
}
