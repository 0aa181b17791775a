package s3blob

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/sesslog/sesslog/blobstore"
)

// Config is what a Bucket needs to know.
type Config struct {
	// Endpoint is the server as a URL without a path, such as
	// "https://s3.eu-central-1.amazonaws.com"; required. Only "http://" goes
	// without TLS; without a scheme it is https.
	Endpoint string
	// Region is the bucket's. Empty asks the server.
	Region string
	// Bucket is the bucket's name; required.
	Bucket string
	// Prefix is put in front of every key, with a "/" between, so that several
	// stores can share a bucket. It obeys the rules of a key, or is empty.
	Prefix string
	// Create makes a missing bucket in Ready, if it was never seen before.
	Create bool
	// AccessKey and SecretKey are the credentials. With both empty they come
	// from where AWS's own tools find them: AWS_ACCESS_KEY_ID and its kin, the
	// shared credentials file, a web identity or container role, and at last
	// the machine's metadata service, unless AWS_EC2_METADATA_DISABLED is true.
	AccessKey, SecretKey string
	// CAFile names a PEM file of authorities to trust beside the system's.
	CAFile string
	// PathStyle puts the bucket's name into the path and never into the host
	// name. Without it only the host names of the large clouds get it.
	PathStyle bool

	stall time.Duration // default stallTimeout; tests wait less
}

// check returns the endpoint's host and whether to use TLS, or all that is
// wrong with c.
func (c Config) check() (host string, secure bool, err error) {
	endpoint := c.Endpoint
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	var faults []error
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		faults = append(faults, fmt.Errorf("endpoint: %w", err))
	case u.Host == "":
		faults = append(faults, fmt.Errorf("endpoint: %q names no host", c.Endpoint))
	case u.Scheme != "https" && u.Scheme != "http":
		faults = append(faults, fmt.Errorf("endpoint: scheme %q is neither https nor http", u.Scheme))
	case u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		// Not quoted: it may hold a password.
		faults = append(faults, errors.New("endpoint: it has more than a scheme, a host and a port"))
	default:
		host, secure = u.Host, u.Scheme == "https"
	}
	if err := s3utils.CheckValidBucketName(c.Bucket); err != nil {
		faults = append(faults, fmt.Errorf("bucket: %q: %w", c.Bucket, err))
	}
	if c.Prefix != "" {
		if err := blobstore.CheckKey(c.Prefix); err != nil {
			faults = append(faults, fmt.Errorf("prefix: %w", err))
		}
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		faults = append(faults, errors.New("access key, secret key: one is set without the other"))
	}
	if c.CAFile != "" && u != nil && u.Scheme == "http" {
		faults = append(faults, errors.New("CA file: the endpoint does not use TLS"))
	}
	return host, secure, errors.Join(faults...)
}

// tlsConfig returns the settings to meet the server with.
func (c Config) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	// A system without a pool of its own trusts the file alone.
	if t.RootCAs, err = x509.SystemCertPool(); err != nil {
		t.RootCAs = x509.NewCertPool()
	}
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file: %s holds no certificate", c.CAFile)
	}
	return t, nil
}
