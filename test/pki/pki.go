package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// An Authority signs certificates.
type Authority struct {
	File string // the certificate of the authority

	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// serials makes the serial numbers unique within a process.
var serials atomic.Int64

// New creates an Authority with that common name.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{dir: tb.TempDir()}
	a.File = filepath.Join(a.dir, "ca.pem")
	template := a.template(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der := a.sign(tb, template, template, &a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	write(tb, a.File, "CERTIFICATE", der)
	return a
}

// A Pair is a certificate and its key, in files.
type Pair struct{ Cert, Key string }

// Pair creates a certificate with that common name, for servers on loopback and for
// clients.
func (a *Authority) Pair(tb testing.TB, name string) Pair {
	tb.Helper()
	dir := tb.TempDir()
	p := Pair{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	a.Renew(tb, p, name)
	return p
}

// Renew replaces the certificate in the files of p.
func (a *Authority) Renew(tb testing.TB, p Pair, name string) {
	tb.Helper()
	template := a.template(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	var key *ecdsa.PrivateKey
	der := a.sign(tb, template, a.cert, &key)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	write(tb, p.Key, "PRIVATE KEY", secret)
	write(tb, p.Cert, "CERTIFICATE", der)
}

// Client returns the configuration of a client that trusts the authority and presents
// the certificates of pairs.
func (a *Authority) Client(tb testing.TB, pairs ...Pair) *tls.Config {
	tb.Helper()
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	cfg.RootCAs.AddCert(a.cert)
	for _, p := range pairs {
		pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
		if err != nil {
			tb.Fatal(err)
		}
		cfg.Certificates = append(cfg.Certificates, pair)
	}
	return cfg
}

func (a *Authority) template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serials.Add(1)),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), // allow for clock changes
		NotAfter:     now.Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:     []string{"localhost"},
	}
}

// sign creates a key, stores it in *key, and signs its certificate with a.key. New
// passes &a.key, so the certificate of the authority is self-signed.
func (a *Authority) sign(tb testing.TB, template, parent *x509.Certificate, key **ecdsa.PrivateKey) []byte {
	tb.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	*key = made
	der, err := x509.CreateCertificate(rand.Reader, template, parent, made.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

// write replaces a file atomically, like certificate managers.
func write(tb testing.TB, file, kind string, der []byte) {
	tb.Helper()
	next := file + ".next"
	if err := os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		tb.Fatal(err)
	}
}
