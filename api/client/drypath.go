package client

import (
	"fmt"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// dryAnswer returns why r, the answer of the node at base to a dry run, is none.
func dryAnswer(base string, r *http.Response) error {
	if r.Header.Get(api.HeaderDryRun) == "true" {
		return nil
	}
	switch {
	case r.StatusCode < 300:
		return fmt.Errorf("the node at %s answers a dry run with %s, and does not say that it was one: see what was done: %w", base, r.Status, core.ErrInvalid)
	case r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("the node at %s is older and knows no dry runs; nothing was done, upgrade it first: %w", base, core.ErrInvalid)
	}
	return nil // it says itself why not
}
