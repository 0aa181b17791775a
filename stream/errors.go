package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// JetStream's error codes that mean something to the protocol. Their numbers
// are part of the server's API.
const (
	codeNoPeers         = 10005 // no suitable peers: a cluster that has just formed
	codeNotLeader       = 10009 // this server does not lead the cluster any more
	codeNoMessage       = 10037 // no message found
	codeTooLarge        = 10054
	codeWrongLast       = 10071 // another message was last, or the server could not read which
	codeStoreFailed     = 10077 // a limit was reached, or the disk refused
	codeWrongLastBusy   = 10164 // another message on the subject is on its way
	codeDuplicateInProc = 10158

	// Limits of the account or the server, not of the stream.
	codeAccountFull = 10002
	codeServerFull  = 10023
	codeStorageFull = 10047
)

// errBusy is an answer that says: the same again, a little later.
var errBusy = errors.New("busy")

// edge turns what nats.go says about a write into the errors of core.
func edge(err error) error {
	if err == nil {
		return nil
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return apiEdge(int(api.ErrorCode), api.Code, api.Description)
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return fmt.Errorf("%w: nobody leads the stream: %w", errBusy, core.ErrUnavailable)
	case isUnsent(err):
		return unsent(err)
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%v: %w", err, core.ErrTooLarge)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", core.ErrUncertain, err)
	}
	// Timeouts, a connection that went away, anything unforeseen: the message
	// may have been stored.
	return fmt.Errorf("%v: %w", err, core.ErrUncertain)
}

// apiEdge maps an answer of the server: it stored nothing.
func apiEdge(code, status int, text string) error {
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

// readEdge turns what nats.go says about a read into the errors of core.
func readEdge(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case isUnsent(err):
		return unsent(err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: nobody answers for the stream: %w", errBusy, core.ErrUnavailable)
	}
	return fmt.Errorf("%v: %w", err, core.ErrUnavailable)
}

// isUnsent reports whether err says that nothing was sent for want of a
// connection. It does where the connection keeps nothing for later, see OpenLog.
func isUnsent(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionDraining) ||
		errors.Is(err, nats.ErrConnectionReconnecting)
}

func unsent(err error) error {
	return fmt.Errorf("%w: no connection to NATS, so nothing was sent (%v): %w", errBusy, err, core.ErrUnavailable)
}
