package metrics

import (
	"context"
	"errors"
	"strconv"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

// Outcomes other than errors. Checkpoints have only stored and failed; the log has
// the reason.
const (
	stored   = "stored"
	granted  = "granted"
	tookOver = "took_over"
	failed   = "failed"
)

// outcomes maps the errors of core to labels. The first match counts, as in HTTP
// responses.
var outcomes = []struct {
	err  error
	name string
}{
	{core.ErrUncertain, "uncertain"},
	{core.ErrFenced, "fenced"},
	{core.ErrConflict, "conflict"},
	{core.ErrExists, "exists"},
	{core.ErrHeld, "held"},
	{core.ErrDeleted, "deleted"},
	{core.ErrTooNew, "too_new"},
	{core.ErrTooLarge, "too_large"},
	{core.ErrFull, "full"},
	{core.ErrInvalid, "invalid"},
	{core.ErrNotFound, "not_found"},
	{core.ErrCorrupt, "corrupt"},
	{core.ErrLost, "lost"},
	{core.ErrUnavailable, "unavailable"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "unavailable"},
}

func outcomeOf(err error) string {
	if err == nil {
		return stored
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	return "error"
}

// storeOutcomes maps the errors of an object store to labels.
var storeOutcomes = []struct {
	err  error
	name string
}{
	{blobstore.ErrNotFound, "not_found"},
	{blobstore.ErrRefused, "refused"},
	{blobstore.ErrUnavailable, "unavailable"},
	{blobstore.ErrCorrupt, "corrupt"},
	{blobstore.ErrBadKey, "bad_key"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "unavailable"},
}

func storeOutcome(err error) string {
	if err == nil {
		return "ok"
	}
	for _, o := range storeOutcomes {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	return "error"
}

// classOf returns the class of an HTTP status.
func classOf(status int) string {
	if status < 100 || status > 599 {
		return "broken"
	}
	return strconv.Itoa(status/100) + "xx"
}
