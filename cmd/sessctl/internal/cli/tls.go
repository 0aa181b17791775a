package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"

	"github.com/spf13/pflag"

	"github.com/sesslog/sesslog/api/client"
)

// tlsFlags name files for https: certificate authorities, and a client certificate.
type tlsFlags struct{ ca, cert, key string }

func (f *tlsFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.ca, "ca", "", "the `FILE` with the certificate authorities for the node's certificate (SESS_CA; default the system's)")
	fl.StringVar(&f.cert, "client-cert", "", "the `FILE` with the client certificate (SESS_CLIENT_CERT)")
	fl.StringVar(&f.key, "client-key", "", "the `FILE` with the key of the client certificate (SESS_CLIENT_KEY)")
}

// secure makes c use the files that flags and environment name.
func (a *App) secure(c *client.Client) error {
	f := tlsFlags{
		ca:   cmp.Or(a.tls.ca, a.Env("SESS_CA")),
		cert: cmp.Or(a.tls.cert, a.Env("SESS_CLIENT_CERT")),
		key:  cmp.Or(a.tls.key, a.Env("SESS_CLIENT_KEY")),
	}
	if f == (tlsFlags{}) {
		return nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		b, err := os.ReadFile(f.ca)
		if err != nil {
			return err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(b) {
			return Usagef("no certificate in %.200q", f.ca)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return Usagef("--client-cert and --client-key require each other")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return Usagef("certificate %.200q with key %.200q: %v", f.cert, f.key, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	t, ok := http.DefaultTransport.(*http.Transport)
	if c.HTTP != nil {
		t, ok = c.HTTP.Transport.(*http.Transport)
	}
	if !ok {
		return nil // a test replaced it
	}
	t = t.Clone()
	t.TLSClientConfig = cfg
	c.HTTP = &http.Client{Transport: t}
	return nil
}
