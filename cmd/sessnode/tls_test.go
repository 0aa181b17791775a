package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/test/pki"
)

// serveIn runs a node in this process until the test ends, and returns its
// URL.
func serveIn(t *testing.T, args, env []string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"--data", t.TempDir(), "--listen", "127.0.0.1:0", "--logging-level", "error"}, args...), env, w, t.Output())
		_ = w.Close()
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("the node stopped with %v", err)
		}
	})
	out := bufio.NewReader(r)
	ready, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("not ready: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.Fields(strings.TrimPrefix(ready, "sessnode ready: "))[0]
}

// client returns a client that makes a new connection for each request, with its
// certificate.
func dial(t *testing.T, url, token string, cfg *tls.Config) *client.Client {
	tr := &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &client.Client{Base: url, Token: token, HTTP: &http.Client{Transport: tr}}
}

func TestChangedCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	first, second := pki.New(t, "first"), pki.New(t, "second")
	pair := first.Pair(t, "node")
	url := serveIn(t, []string{"--tls-cert", pair.Cert, "--tls-key", pair.Key}, nil)
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("the URL is %s", url)
	}
	if _, err := dial(t, url, "", first.Client(t)).Whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, url, "", second.Client(t)).Whoami(t.Context()); err == nil {
		t.Error("a client that trusts another authority can connect")
	}
	if _, err := dial(t, strings.Replace(url, "https", "http", 1), "", nil).Whoami(t.Context()); err == nil {
		t.Error("the node also responds without TLS")
	}
	second.Renew(t, pair, "node")
	await(t, "the node to show the new certificate", func() error {
		_, err := dial(t, url, "", second.Client(t)).Whoami(t.Context())
		return err
	})
	if _, err := dial(t, url, "", first.Client(t)).Whoami(t.Context()); err == nil {
		t.Error("the old certificate is still used")
	}
}

func TestClientCertificatesDecideScope(t *testing.T) {
	t.Parallel()
	ours, others := pki.New(t, "ours"), pki.New(t, "others")
	pair := ours.Pair(t, "node")
	url := serveIn(t, []string{
		"--tls-cert", pair.Cert, "--tls-key", pair.Key, "--tls-client-ca", ours.File,
		"--tls-subjects", "ops=admin,agent-*=write,reader=read",
	}, []string{"SESS_TOKEN=a-token-of-the-test"})

	admin := dial(t, url, "", ours.Client(t, ours.Pair(t, "ops")))
	if _, err := admin.Create(t.Context(), api.Create{ID: "session-1"}); err != nil {
		t.Fatal(err)
	}
	made, err := admin.CreateToken(t.Context(), api.TokenRequest{Name: "r", Scope: "read"})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the node to know the token", func() error {
		_, err := dial(t, url, made.Bearer, ours.Client(t, ours.Pair(t, "ops"))).Whoami(t.Context())
		return err
	})
	for _, c := range []struct {
		who, token  string
		cfg         *tls.Config
		read, write string // 200, a status, or "no" for no connection
		scope       string
	}{
		{"no certificate", "", ours.Client(t), "401", "401", ""},
		{"no certificate, the node's token", "a-token-of-the-test", ours.Client(t), "401", "401", ""},
		{"another authority's", "", forced(ours.Client(t, others.Pair(t, "ops"))), "no", "no", ""},
		{"another authority's, the node's token", "a-token-of-the-test", forced(ours.Client(t, others.Pair(t, "ops"))), "no", "no", ""},
		{"admin", "", ours.Client(t, ours.Pair(t, "ops")), "200", "200", "admin"},
		{"writer", "", ours.Client(t, ours.Pair(t, "agent-7")), "200", "200", "write"},
		{"reader", "", ours.Client(t, ours.Pair(t, "reader")), "200", "403", "read"},
		{"a name that only begins so", "", ours.Client(t, ours.Pair(t, "reader2")), "401", "401", ""},
		{"no name", "", ours.Client(t, ours.Pair(t, "")), "401", "401", ""},
		{"unknown certificate, the node's token", "a-token-of-the-test", ours.Client(t, ours.Pair(t, "x")), "200", "200", "admin"},
		{"an admin with a reader's token", made.Bearer, ours.Client(t, ours.Pair(t, "ops")), "200", "403", "read"},
		{"an admin with a wrong token", "wrong", ours.Client(t, ours.Pair(t, "ops")), "401", "401", ""},
	} {
		cl := dial(t, url, c.token, c.cfg)
		_, err := cl.Info(t.Context(), "session-1")
		if got := statusOf(err); got != c.read {
			t.Errorf("%s reads: %s, want %s (%v)", c.who, got, c.read, err)
		}
		_, err = cl.Name(t.Context(), "session-1", api.NameRequest{Name: "n"}, client.AppendOptions{})
		if got := statusOf(err); got != c.write {
			t.Errorf("%s writes: %s, want %s (%v)", c.who, got, c.write, err)
		}
		if me, err := cl.Whoami(t.Context()); err == nil && string(me.Scope) != c.scope {
			t.Errorf("%s has scope %s, want %s", c.who, me.Scope, c.scope)
		}
	}
	// Health probes have no certificate.
	res, err := dial(t, url, "", ours.Client(t)).HTTP.Get(url + "/readyz")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("readyz without a certificate: %v, %v", res, err)
	}
}

// forced presents a certificate even if the server does not request it.
func forced(cfg *tls.Config) *tls.Config {
	pair := cfg.Certificates[0]
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	return cfg
}

func statusOf(err error) string {
	if err == nil {
		return "200"
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return fmt.Sprint(e.Detail.Status)
	}
	return "no"
}

func await(t *testing.T, what string, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("waited for %s: %v", what, err)
		}
	}
}
