package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// A Detail is a problem document (RFC 9457).
type Detail struct {
	Type   string        `json:"type"` // "urn:sesslog:" and Code
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail"`
	Code   string        `json:"code"`
	Next   string        `json:"next,omitempty"`   // what the caller can do
	Line   int           `json:"line,omitempty"`   // of the request's body, from 1
	Entry  string        `json:"entry,omitempty"`  // the entry at fault
	Head   string        `json:"head,omitempty"`   // the head at fault
	Holder *core.Claim   `json:"holder,omitempty"` // who holds it
	Life   *session.Life `json:"life,omitempty"`   // of a rejected claim: whether the holder is alive
	Cursor *core.Cursor  `json:"cursor,omitempty"` // where the session is
	// Since and More are of a rejected append: what happened to the head since
	// its writer read it, and how many more records there are.
	Since []core.Change `json:"since,omitempty"`
	More  int           `json:"more,omitempty"`
	// Missing are the parts that the node does not have, of a body that lists parts.
	Missing []core.Digest `json:"missing,omitempty"`
	// Request names the request, as the header X-Request-Id does.
	Request string `json:"request,omitempty"`
}

// Problems maps errors to problem documents. If an error matches several rows,
// the first one counts.
var Problems = []struct {
	Err    error
	Code   string
	Status int
	Title  string
	Next   string
}{
	{ErrUnauthorized, "unauthorized", 401, "No valid token", "Send Authorization: Bearer TOKEN (sessctl: --token or SESS_TOKEN)."},
	{ErrForbidden, "forbidden", 403, "Not allowed", "Use a token that is allowed to; an admin makes one with: sessctl token create"},
	{ErrTooMany, "too-many", 429, "Too many requests", "Wait as long as Retry-After says; then retry the same request."},
	{ErrMissingParts, "missing-parts", 409, "Parts of the content are missing", "Store those that missing names with PUT /v1/blobs/{digest}, then repeat the request."},
	{core.ErrUncertain, "uncertain", 503, "The answer was lost", "Send the same request again, with the same ids or Idempotency-Key: it is stored once."},
	{core.ErrFenced, "fenced", 409, "Another writer holds the head", "Stop writing to this head; claim it with takeOver, or append to a head of your own."},
	{core.ErrConflict, "conflict", 409, "The log has changed", "Read the session, then decide again."},
	{core.ErrExists, "exists", 409, "The session already exists", "Append to it, or choose another id."},
	{core.ErrHeld, "held", 423, "The session is held", "Release the hold first, if its owner agrees: GET /v1/holds names the owner and the reason."},
	{core.ErrDeleted, "deleted", 410, "The session is deleted", "Undelete it first, if it is in the trash."},
	{core.ErrTooNew, "too-new", 501, "Written by a newer version", "Upgrade this node."},
	{core.ErrTooLarge, "too-large", 413, "Too large", "Send less at a time, or raise the limit in the node's configuration."},
	{core.ErrFull, "full", 507, "The log is full", "Give the log more room, or delete what is no longer needed; reads continue."},
	{core.ErrInvalid, "invalid", 400, "The request is not valid", "Correct it; a retry does not help."},
	{core.ErrNotFound, "not-found", 404, "Not found", "List the sessions with GET /v1/sessions."},
	{core.ErrCorrupt, "corrupt", 500, "Damaged data", "Keep it as it is and run: sessctl verify"},
	{core.ErrLost, "lost", 410, "The log no longer holds that record", "Read the session from the start."},
	{core.ErrUnavailable, "unavailable", 503, "Not available now", "Try again after a moment."},
	{context.DeadlineExceeded, "unavailable", 503, "Not available now", "Try again after a moment."},
}

var (
	// ErrUnauthorized is returned for a request without a valid token.
	ErrUnauthorized = errors.New("no valid token")
	// ErrForbidden is returned if the caller's token does not allow the call.
	ErrForbidden = errors.New("not allowed")
	// ErrTooMany is a request beyond the limits of its token. Nothing was stored.
	ErrTooMany = fmt.Errorf("beyond the limits of the token: %w", core.ErrUnavailable)
)
