package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"

	"github.com/sesslog/sesslog/blobstore"
)

// What servers that keep objects as files say of keys that run through others.
const (
	objectIsBelowObject = "ObjectParentIsFile"
	objectIsDirectory   = "ExistingObjectIsDirectory"
)

// name turns an error of minio-go into one of blobstore. What is left as it is,
// with the server's code beside its message, waiting does not mend.
func name(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // minio-go reports it in several ways, and so does the server
	}
	resp, answered := errors.AsType[minio.ErrorResponse](err)
	switch {
	case errors.Is(err, errOrder):
		return err
	case !answered:
		// No connection, no credentials to sign with, an answer cut short.
		return fmt.Errorf("%w: %w", blobstore.ErrUnavailable, err)
	case resp.Code == minio.NoSuchKey:
		// By its code and not by its status: a bucket or a user that does not
		// exist is a 404, too, and must not look like a lost object.
		return blobstore.ErrNotFound
	case resp.Code == objectIsBelowObject, resp.Code == objectIsDirectory:
		return fmt.Errorf("%w: there is an object on the way or below: %w", blobstore.ErrBadKey, err)
	case isPassing(resp):
		return fmt.Errorf("%w: %s (%d): %w", blobstore.ErrUnavailable, resp.Code, resp.StatusCode, err)
	default:
		return fmt.Errorf("the server refuses with %s (%d): %w", resp.Code, resp.StatusCode, err)
	}
}

// isPassing says whether a refusal is one that waiting mends.
func isPassing(resp minio.ErrorResponse) bool {
	switch resp.Code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled",
		"RequestTimeout", "OperationAborted", "ExpiredToken", "ExpiredTokenException",
		"BadDigest", "IncompleteBody", // damaged or cut short on the way
		"NoSuchUpload": // completed, but the answer was lost; or aborted by somebody
		return true
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	}
	return resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented
}

func isCode(err error, code string) bool {
	resp, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && resp.Code == code
}
