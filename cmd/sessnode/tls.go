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

	"github.com/sesslog/sesslog/access"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/config"
)

// keyPair is a certificate with its key, as its files say now.
func keyPair(cert, key string, logger *slog.Logger) (*fresh[*tls.Certificate], error) {
	return newFresh(logger, func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", cert, key, err)
		}
		return &pair, nil
	}, cert, key)
}

// authorities are the certificates of a file, as it says now.
func authorities(file string, logger *slog.Logger) (*fresh[*x509.CertPool], error) {
	return newFresh(logger, func() (*x509.CertPool, error) {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("there is no certificate in %s", file)
		}
		return pool, nil
	}, file)
}

// secured is ln with TLS, where that is set. Certificates and authorities are
// taken as the files say when somebody connects.
func secured(ln net.Listener, cfg config.TLS, logger *slog.Logger) (net.Listener, error) {
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
		SessionTicketsDisabled: true, // a session that is resumed shows no certificate anew
	}
	var cas *fresh[*x509.CertPool]
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
			// Who shows none is told so by the API: probes of health have none.
			now.ClientAuth, now.ClientCAs = tls.VerifyClientCertIfGiven, cas.get()
		}
		return now, nil
	}
	return tls.NewListener(ln, &base), nil
}

// shows is the certificate of pair for a server.
func shows(pair *fresh[*tls.Certificate]) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get(), nil }
}

// between is how the nodes of a cluster know each other: each shows a certificate
// that the authorities have signed, whoever of the two connects. nil without TLS.
func between(cfg config.Cluster, logger *slog.Logger) (*tls.Config, error) {
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
		GetCertificate:       shows(pair),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get(), nil },
		RootCAs:              cas.get(), // as they are now: others need a new start
		ClientCAs:            cas.get(),
		ClientAuth:           tls.RequireAndVerifyClientCert,
	}, nil
}

// natsAccess is how the node shows who it is to somebody else's NATS server, and
// checks who that is.
func natsAccess(cfg config.NATS, logger *slog.Logger) ([]nats.Option, error) {
	var opts []nats.Option
	if cfg.Creds != "" {
		opts = append(opts, nats.UserCredentials(cfg.Creds)) // read at each connection
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

// subjectsOf are the callers whose certificates stand for a token. The settings
// have been checked.
func subjectsOf(cfg config.TLS) []api.Subject {
	var out []api.Subject
	for _, s := range cfg.Subjects {
		name, scope, _ := strings.Cut(s, "=")
		out = append(out, api.Subject{Name: name, Grant: access.Grant{Scope: access.Scope(scope)}})
	}
	return out
}

// warnOpen says what the settings let strangers see or do.
func warnOpen(cfg config.Config, logger *slog.Logger) {
	host, _, _ := net.SplitHostPort(cfg.Listen)
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() {
		return
	}
	if cfg.Open {
		logger.Warn("open is set: everybody who can reach this node may do everything, also erase", "listen", cfg.Listen)
	}
	if cfg.TLS.Cert == "" {
		logger.Warn("the API has no TLS: tokens and sessions can be read on their way (set tls.cert and tls.key, or have a proxy do it)", "listen", cfg.Listen)
	}
	if n := len(cfg.Token); n > 0 && n < 16 {
		logger.Warn("the token is short enough to be guessed; use 32 characters or more", "characters", n)
	}
}
