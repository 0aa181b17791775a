package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

func TestErrorsBecomeExitCodes(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		name string
		err  error
		exit int
		code string
	}{
		{"any", errors.New("odd"), 1, "error"},
		{"usage", Usagef("wrong"), 2, "usage"},
		{"hint", Hintf(core.ErrNotFound, "do this"), 3, "not-found"},
		{"no file", FileError("x", os.ErrNotExist), 3, "not-found"},
		{"invalid", core.ErrInvalid, 4, "invalid"},
		{"too large", core.ErrTooLarge, 4, "too-large"},
		{"line", &core.LineError{Line: 3, Err: core.ErrInvalid}, 4, "invalid"},
		{"conflict", core.ErrConflict, 5, "conflict"},
		{"exists", core.ErrExists, 5, "exists"},
		{"line conflict", &core.LineError{Line: 3, Err: core.ErrConflict}, 5, "conflict"},
		{"file exists", os.ErrExist, 5, "exists"},
		{"fenced", &core.FencedError{}, 6, "fenced"},
		{"unavailable", core.ErrUnavailable, 7, "unavailable"},
		{"uncertain", core.ErrUncertain, 7, "uncertain"},
		{"full", core.ErrFull, 7, "full"},
		{"refused", fmt.Errorf("%w: %w", refused, core.ErrUnavailable), 7, "unavailable"},
		{"too late", context.DeadlineExceeded, 7, "unavailable"},
		{"too late to know", fmt.Errorf("%w: %w", context.DeadlineExceeded, core.ErrUncertain), 7, "uncertain"},
		{"corrupt", core.ErrCorrupt, 8, "corrupt"},
		{"lost", core.ErrLost, 8, "lost"},
		{"deleted", core.ErrDeleted, 9, "deleted"},
		{"too new", core.ErrTooNew, 1, "too-new"},
		{"interrupted", context.Canceled, 130, "interrupted"},
		{"interrupted in a write", fmt.Errorf("%w: %w", context.Canceled, core.ErrUncertain), 7, "uncertain"},
		{"token", &client.Error{Detail: api.Detail{Code: "unauthorized", Status: 401}}, 1, "unauthorized"},
		{"node", &client.Error{Detail: api.Detail{Code: "deleted", Status: 410}}, 9, "deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Describe(c.err, "http://node")
			if got.Exit != c.exit || got.Code != c.code {
				t.Errorf("got exit %d, code %q, want %d, %q", got.Exit, got.Code, c.exit, c.code)
			}
			if strings.ContainsAny(got.Detail, "\n") {
				t.Errorf("%q is not one line", got.Detail)
			}
		})
	}
}
