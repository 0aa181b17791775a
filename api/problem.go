package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Detail is an error as it crosses the wire: a problem document of RFC 9457.
type Detail struct {
	Type   string       `json:"type"` // "urn:sesslog:" and Code
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Detail string       `json:"detail"`
	Code   string       `json:"code"`
	Next   string       `json:"next,omitempty"`   // what the caller does now
	Line   int          `json:"line,omitempty"`   // of the request's body, from 1
	Entry  string       `json:"entry,omitempty"`  // the entry at fault
	Head   string       `json:"head,omitempty"`   // the head at fault
	Holder *core.Claim  `json:"holder,omitempty"` // who holds it
	Life   *Life        `json:"life,omitempty"`   // of a refused claim: whether the holder is there
	Cursor *core.Cursor `json:"cursor,omitempty"` // where the session is
	// Of an append that another came before: what happened to the head since its
	// writer saw it, and how many records the session got behind those.
	Since []core.Change `json:"since,omitempty"`
	More  int           `json:"more,omitempty"`
	// Missing are the parts that the node does not have, of a body that lists parts.
	Missing []core.Digest `json:"missing,omitempty"`
	// Request names the request, as the header X-Request-Id does.
	Request string `json:"request,omitempty"`
}

// Problems are the errors of core as HTTP knows them. Where an error is several
// of them, the first counts.
var Problems = []struct {
	Err    error
	Code   string
	Status int
	Title  string
	Next   string
}{
	{ErrUnauthorized, "unauthorized", 401, "No valid token", "Send Authorization: Bearer TOKEN (sessctl: --token or SESS_TOKEN)."},
	{ErrForbidden, "forbidden", 403, "Not allowed", "Use a token that is allowed to; an admin makes one with: sessctl token create"},
	{ErrTooMany, "too-many", 429, "Too many requests", "Wait as long as Retry-After says; then send the same again."},
	{ErrMissingParts, "missing-parts", 409, "Parts of the content are missing", "Store those that missing names with PUT /v1/blobs/{digest}, then repeat the request."},
	{core.ErrUncertain, "uncertain", 503, "The answer was lost", "Send the same request again, with the same ids or Idempotency-Key: it is stored once."},
	{core.ErrFenced, "fenced", 409, "Another writer holds the head", "Stop writing to this head; claim it with takeOver, or append to a head of your own."},
	{core.ErrConflict, "conflict", 409, "The log holds something else there", "Read the session and decide anew."},
	{core.ErrExists, "exists", 409, "The session is there already", "Append to it, or choose another id."},
	{core.ErrHeld, "held", 423, "The session is held", "Release the hold first, if those who set it agree: GET /v1/holds says who and why."},
	{core.ErrDeleted, "deleted", 410, "The session is deleted", "Undelete it first, if it is in the trash."},
	{core.ErrTooNew, "too-new", 501, "Written by a newer version", "Upgrade this node."},
	{core.ErrTooLarge, "too-large", 413, "Too large", "Send less at a time, or raise the limit in the node's configuration."},
	{core.ErrFull, "full", 507, "The log is full", "Give the log more room, or delete what is no longer needed; reading goes on."},
	{core.ErrInvalid, "invalid", 400, "The request is not valid", "Correct it; sending it again will not help."},
	{core.ErrNotFound, "not-found", 404, "Not found", "List what there is with GET /v1/sessions."},
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
