package s3blob

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/sesslog/sesslog/blobstore"
)

// The error codes of servers that keep objects as files, for keys that are parents
// or children of others.
const (
	objectIsBelowObject = "ObjectParentIsFile"
	objectIsDirectory   = "ExistingObjectIsDirectory"
)

// mapError maps an error of minio-go to one of blobstore that names the cause and
// the fix.
func mapError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the server did not respond before the deadline: %w", ctx.Err())
	}
	if ctx.Err() != nil {
		return ctx.Err() // minio-go reports this in several ways
	}
	resp, answered := errors.AsType[minio.ErrorResponse](err)
	switch {
	case errors.Is(err, errOrder):
		return fmt.Errorf("%w: %w", blobstore.ErrRefused, err)
	case !answered:
		// No connection, no credentials, or a truncated response.
		return mapNoResponse(err)
	case resp.Code == minio.NoSuchKey:
		// Check the code, not the status: a missing bucket or user is a 404, too,
		// and must not look like a missing object.
		return blobstore.ErrNotFound
	case resp.Code == objectIsBelowObject, resp.Code == objectIsDirectory:
		return fmt.Errorf("%w: conflicts with an object above or below this key: %w", blobstore.ErrBadKey, err)
	case isTransient(resp):
		return fmt.Errorf("%w: %s%s", blobstore.ErrUnavailable, advice(resp), serverText(resp))
	default:
		return fmt.Errorf("%w: %s%s", blobstore.ErrRefused, advice(resp), serverText(resp))
	}
}

// serverText returns the server's code and message. If the response had no body,
// minio-go uses the status for both.
func serverText(resp minio.ErrorResponse) string {
	if resp.Code == resp.Message {
		return resp.Code
	}
	return fmt.Sprintf("%s (%d): %s", resp.Code, resp.StatusCode, oneLine(resp.Message))
}

// oneLine returns text without line breaks, clipped to a readable length.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// advice explains an error response and names the fix, as the start of an error
// text. It returns "" if the server's own text must suffice.
func advice(resp minio.ErrorResponse) string {
	switch resp.Code {
	case "SignatureDoesNotMatch":
		return "the secret key does not match the access key; correct the credentials: "
	case "InvalidAccessKeyId", "XAdminUserNotFound", "InvalidClientTokenId", "InvalidToken":
		return "unknown access key; correct the credentials: "
	case "ExpiredToken", "ExpiredTokenException":
		return "the credentials have expired; renew them: "
	case minio.AccessDenied, "AllAccessDisabled", "AccountProblem":
		return "permission denied; allow the credentials to list the bucket and to get, put and delete its objects: "
	case minio.NoSuchBucket:
		return "the bucket does not exist; create it or correct its name: "
	case "RequestTimeTooSkewed":
		return "this host's clock differs too much from the server's; set the clock: "
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
		return "the bucket is in another place; correct the region or the endpoint: "
	case "QuotaExceeded", "InsufficientStorage", "XMinioStorageFull":
		return "the server is full; add storage: "
	case "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch":
		return "the bytes were corrupted in transit; if this persists, check the network: "
	}
	switch {
	case isThrottling(resp), resp.StatusCode == http.StatusServiceUnavailable:
		return "the server is overloaded; if this persists, add capacity: "
	case resp.StatusCode >= 500:
		return "the server failed; check its log: "
	}
	return ""
}

// closedByServer starts the error that minio-go returns for io.EOF; it contains
// the URL twice.
const closedByServer = "Connection closed by foreign host"

// mapNoResponse maps an error without a response.
func mapNoResponse(err error) error {
	advice, host := noResponseAdvice(err), ""
	if u, ok := errors.AsType[*url.Error](err); ok {
		if at, perr := url.Parse(u.URL); perr == nil {
			host = at.Host + ": "
		}
		err = u.Err
		if strings.HasPrefix(err.Error(), closedByServer) {
			advice, err = "connection lost; check that the server runs: ", io.ErrUnexpectedEOF
		}
	}
	return fmt.Errorf("%w: %s%s%w", blobstore.ErrUnavailable, advice, host, err)
}

// noResponseAdvice is advice for an error without a response.
func noResponseAdvice(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is signed by an untrusted authority; set the CA file: "
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the server's certificate is for another host name; correct the endpoint: "
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "the server's certificate has expired or is not valid yet; renew it or set this host's clock: "
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not use TLS; use http:// in the endpoint or correct its port: "
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return "no such host; correct the endpoint: "
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "the server stopped responding; check that it runs: "
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "no server listens there; start it or correct the endpoint: "
	}
	return ""
}

// isTransient reports whether a retry may succeed after an error response.
func isTransient(resp minio.ErrorResponse) bool {
	switch resp.Code {
	case "RequestTimeout", "OperationAborted", "ExpiredToken", "ExpiredTokenException",
		"RequestTimeTooSkewed",                                     // clocks are usually corrected automatically
		"BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch", // corrupted or truncated in transit
		"NoSuchUpload": // completed, but the response was lost; or aborted by another client
		return true
	}
	if isThrottling(resp) || resp.StatusCode == http.StatusRequestTimeout {
		return true
	}
	return resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented
}

func isThrottling(resp minio.ErrorResponse) bool {
	switch resp.Code {
	case "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled":
		return true
	}
	return resp.StatusCode == http.StatusTooManyRequests
}

func isCode(err error, code string) bool {
	resp, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && resp.Code == code
}
