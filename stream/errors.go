package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// JetStream error codes that this package distinguishes. The numbers are part of the
// server's API.
const (
	codeNoPeers         = 10005 // no suitable peers: the cluster has just formed
	codeNotLeader       = 10009 // this server no longer leads the cluster
	codeNoMessage       = 10037 // no message found
	codeTooLarge        = 10054
	codeWrongLast       = 10071 // another message is last, or the server could not read which one is
	codeStoreFailed     = 10077 // a limit was reached, or the disk returned an error
	codeWrongLastBusy   = 10164 // another message of the subject is in progress
	codeDuplicateInProc = 10158

	// Limits of the account or the server.
	codeAccountFull = 10002
	codeServerFull  = 10023
	codeStorageFull = 10047
)

// errBusy marks an error after which the same request can be retried: nothing was
// stored.
var errBusy = errors.New("busy")

// mapError maps an error of a write by nats.go to the errors of core.
func mapError(err error) error {
	if err == nil {
		return nil
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return mapAPIError(int(api.ErrorCode), api.Code, api.Description)
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("%w: the stream has no leader: %w", errBusy, core.ErrUnavailable)
	case isUnsent(err):
		return unsent(err)
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%v: %w", err, core.ErrTooLarge)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", core.ErrUncertain, err)
	}
	// After a timeout, a lost connection or any other error, the message may have
	// been stored.
	return fmt.Errorf("%v: %w", err, core.ErrUncertain)
}

// mapAPIError maps an error answer of the server, which means that nothing was stored.
func mapAPIError(code, status int, text string) error {
	switch code {
	case codeWrongLast:
		return fmt.Errorf("%s: %w", text, core.ErrConflict)
	case codeWrongLastBusy, codeDuplicateInProc:
		return fmt.Errorf("%w: %s: %w", errBusy, text, core.ErrUnavailable)
	case codeStoreFailed, codeAccountFull, codeServerFull, codeStorageFull:
		return fmt.Errorf("%s: %w", text, core.ErrFull)
	case codeTooLarge:
		return fmt.Errorf("%s: %w", text, core.ErrTooLarge)
	case codeNoMessage:
		return fmt.Errorf("%s: %w", text, core.ErrNotFound)
	}
	if status == 429 || status == 503 {
		return fmt.Errorf("%w: %s: %w", errBusy, text, core.ErrUnavailable)
	}
	return fmt.Errorf("JetStream answered %d (%s): %w", code, text, core.ErrUnavailable)
}

// mapReadError maps an error of a read by nats.go to the errors of core.
func mapReadError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case isUnsent(err):
		return unsent(err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: the stream does not answer: %w", errBusy, core.ErrUnavailable)
	}
	return fmt.Errorf("%v: %w", err, core.ErrUnavailable)
}

// isUnsent reports whether err means that nothing was sent because there is no
// connection. That is certain only if the connection does not buffer, see OpenLog.
func isUnsent(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionDraining) ||
		errors.Is(err, nats.ErrConnectionReconnecting)
}

func unsent(err error) error {
	return fmt.Errorf("%w: no connection to NATS, nothing was sent (%v): %w", errBusy, err, core.ErrUnavailable)
}
