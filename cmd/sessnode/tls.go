package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/config"
)

// keyPair loads a certificate with its key.
func keyPair(cert, key string, logger *slog.Logger) (*reloaded[*tls.Certificate], error) {
	return newReloaded(logger, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", cert, key, err)
		}
		return &pair, nil
	}, cert, key)
}

// authorities loads the certificates in a file.
func authorities(file string, logger *slog.Logger) (*reloaded[*x509.CertPool], error) {
	return newReloaded(logger, func() (*x509.CertPool, error) {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s contains no certificate", file)
		}
		return pool, nil
	}, file)
}

// withTLS returns ln with TLS if cfg enables it. Every handshake uses the current
// content of the files.
func withTLS(ln net.Listener, cfg config.TLS, logger *slog.Logger) (net.Listener, error) {
	if cfg.Cert == "" {
		return ln, nil
	}
	pair, err := keyPair(cfg.Cert, cfg.Key, logger)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	base := tls.Config{
		MinVersion:             tls.VersionTLS12,
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: true, // a resumed session would not verify the certificate again
	}
	var cas *reloaded[*x509.CertPool]
	if cfg.ClientCA != "" {
		if cas, err = authorities(cfg.ClientCA, logger); err != nil {
			return nil, fmt.Errorf("tls.client_ca: %w", err)
		}
	}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.GetConfigForClient = nil
		now.Certificates = []tls.Certificate{*pair.get()}
		if cas != nil {
			// The API rejects requests without a certificate; health probes have none.
			now.ClientAuth, now.ClientCAs = tls.VerifyClientCertIfGiven, cas.get()
		}
		return now, nil
	}
	return tls.NewListener(ln, &base), nil
}

func serverCertificate(pair *reloaded[*tls.Certificate]) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get(), nil }
}

// clusterTLS returns the TLS configuration between the nodes of a cluster, with
// mutual authentication; nil if TLS is not configured.
func clusterTLS(cfg config.Cluster, logger *slog.Logger) (*tls.Config, error) {
	if cfg.Cert == "" {
		return nil, nil
	}
	pair, err := keyPair(cfg.Cert, cfg.Key, logger)
	if err != nil {
		return nil, err
	}
	cas, err := authorities(cfg.CA, logger)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:           tls.VersionTLS12,
		GetCertificate:       serverCertificate(pair),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get(), nil },
		RootCAs:              cas.get(), // a change takes effect after a restart
		ClientCAs:            cas.get(),
		ClientAuth:           tls.RequireAndVerifyClientCert,
	}, nil
}

// natsOptions returns the options for authentication with an external NATS server.
func natsOptions(cfg config.NATS, logger *slog.Logger) ([]nats.Option, error) {
	var opts []nats.Option
	if cfg.Creds != "" {
		opts = append(opts, nats.UserCredentials(cfg.Creds)) // read at every connection
	}
	if cfg.NKey != "" {
		o, err := nats.NkeyOptionFromSeed(cfg.NKey)
		if err != nil {
			return nil, fmt.Errorf("nkey %s: %w", cfg.NKey, err)
		}
		opts = append(opts, o)
	}
	if cfg.CA != "" {
		opts = append(opts, nats.RootCAs(cfg.CA))
	}
	if cfg.Cert != "" {
		pair, err := keyPair(cfg.Cert, cfg.Key, logger)
		if err != nil {
			return nil, err
		}
		opts = append(opts, func(o *nats.Options) error {
			o.Secure = true
			o.TLSCertCB = func() (tls.Certificate, error) { return *pair.get(), nil }
			return nil
		})
	}
	return opts, nil
}

func schemeOf(cfg config.Config) string {
	if cfg.TLS.Cert != "" {
		return "https"
	}
	return "http"
}

// subjectsOf returns the callers that authenticate with a certificate instead of a
// token. The settings have been checked.
func subjectsOf(cfg config.TLS) []server.Subject {
	var out []server.Subject
	for _, s := range cfg.Subjects {
		name, scope, _ := strings.Cut(s, "=")
		out = append(out, server.Subject{Name: name, Grant: access.Grant{Scope: access.Scope(scope)}})
	}
	return out
}

// warnExposed logs what the settings expose to other hosts.
func warnExposed(cfg config.Config, logger *slog.Logger) {
	host, _, _ := net.SplitHostPort(cfg.Listen)
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		return
	}
	if cfg.Open {
		logger.Warn("open is set: anyone who can reach this node has full access, including erase", "listen", cfg.Listen)
	}
	if cfg.TLS.Cert == "" {
		logger.Warn("the API has no TLS: tokens and sessions are sent in the clear (set tls.cert and tls.key, or use a TLS proxy)", "listen", cfg.Listen)
	}
	if n := len(cfg.Token); n > 0 && n < 16 {
		logger.Warn("the token is short enough to guess; use 32 characters or more", "characters", n)
	}
}
