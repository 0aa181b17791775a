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

// Config describes the S3 bucket of a Bucket.
type Config struct {
	// Endpoint is the URL of the server without a path, such as
	// "https://s3.eu-central-1.amazonaws.com"; required. The scheme defaults to
	// https; "http://" disables TLS.
	Endpoint string
	// Region is the region of the bucket. If empty, the server is asked.
	Region string
	// Bucket is the bucket's name; required.
	Bucket string
	// Prefix is put before every key, followed by "/", so that several stores can
	// share a bucket. It must be a valid key or empty.
	Prefix string
	// Create lets Ready create a missing bucket, unless Ready has seen it before.
	Create bool
	// AccessKey and SecretKey are the credentials. If both are empty, the usual
	// AWS sources are used: the environment (AWS_ACCESS_KEY_ID and so on), the
	// shared credentials file, a web identity or container role, and the instance
	// metadata service, unless AWS_EC2_METADATA_DISABLED is true.
	AccessKey, SecretKey string
	// CAFile names a PEM file of authorities to trust besides the system's.
	CAFile string
	// PathStyle puts the bucket's name into the path of requests. By default it
	// is put into the host name for the large clouds only.
	PathStyle bool

	stall time.Duration // default stallTimeout; shorter in tests
}

// check returns the endpoint's host and whether to use TLS, or all faults of c.
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
		faults = append(faults, fmt.Errorf("endpoint: %q has no host", c.Endpoint))
	case u.Scheme != "https" && u.Scheme != "http":
		faults = append(faults, fmt.Errorf("endpoint: scheme %q is neither https nor http", u.Scheme))
	case u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		// Not quoted: it may contain a password.
		faults = append(faults, errors.New("endpoint: only a scheme, a host and a port are allowed"))
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
		faults = append(faults, errors.New("access key, secret key: set both or neither"))
	}
	if c.CAFile != "" && u != nil && u.Scheme == "http" {
		faults = append(faults, errors.New("CA file: the endpoint does not use TLS"))
	}
	return host, secure, errors.Join(faults...)
}

// tlsConfig returns the TLS configuration of the client.
func (c Config) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile == "" {
		return t, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	// If the system has no pool, trust only the file.
	if t.RootCAs, err = x509.SystemCertPool(); err != nil {
		t.RootCAs = x509.NewCertPool()
	}
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file: %s contains no certificate", c.CAFile)
	}
	return t, nil
}
