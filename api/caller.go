package api

import (
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

var (
	ErrUnauthorized = errors.New("no valid token")
	ErrForbidden    = errors.New("not allowed")
	// ErrTooMany is a request beyond the limits of its token. Nothing was stored.
	ErrTooMany = fmt.Errorf("beyond the limits of the token: %w", core.ErrUnavailable)
)
