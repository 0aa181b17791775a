package s3blob

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// credentialTimeout bounds one request for the credentials of a role.
const credentialTimeout = 5 * time.Second

func (c Config) credentials() *credentials.Credentials {
	if c.AccessKey != "" {
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, "")
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if useRole() {
		providers = append(providers, &credentials.IAM{Client: &http.Client{Timeout: credentialTimeout}})
	}
	return credentials.New(&chain{providers: providers})
}

// useRole reports whether to request the credentials of a role. If the instance
// metadata service is disabled, the environment must name a role.
func useRole() bool {
	if !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return true
	}
	for _, name := range []string{
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// A chain uses the first provider that has credentials. Unlike credentials.Chain,
// which sends unsigned requests if there are none, it returns the errors of the
// providers, so that a role service that is down does not look like a missing
// permission.
type chain struct {
	providers []credentials.Provider
	last      credentials.Provider
}

func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	var faults []error
	for _, p := range c.providers {
		v, err := p.RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			c.last = p
			return v, nil
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return credentials.Value{}, fmt.Errorf("no S3 credentials in the configuration or the environment: %w", errors.Join(faults...))
}

func (c *chain) IsExpired() bool { return c.last == nil || c.last.IsExpired() }
