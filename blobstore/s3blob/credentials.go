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

// askTimeout bounds one question to a service that hands out credentials.
const askTimeout = 5 * time.Second

func (c Config) credentials() *credentials.Credentials {
	if c.AccessKey != "" {
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, "")
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if mayAskRole() {
		providers = append(providers, &credentials.IAM{Client: &http.Client{Timeout: askTimeout}})
	}
	return credentials.New(&chain{providers: providers})
}

// mayAskRole says whether to ask for the credentials of a role. With the
// machine's metadata service disabled, a role must be named by the environment.
func mayAskRole() bool {
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

// A chain is the first of its providers that has credentials. credentials.Chain
// signs nothing when there are none, which makes a role service that is down
// look like a lack of permission; this one says what happened.
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
