package notify

import (
	"errors"
	"net/url"
)

// hostOf returns the host of a URL, for logs.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

// withoutURL returns what is wrapped in the error of an HTTP client.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
