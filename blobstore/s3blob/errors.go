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

// What servers that keep objects as files say of keys that run through others.
const (
	objectIsBelowObject = "ObjectParentIsFile"
	objectIsDirectory   = "ExistingObjectIsDirectory"
)

// name turns an error of minio-go into one of blobstore, which says what is
// wrong and what mends it.
func name(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the server did not answer in the time that there was: %w", ctx.Err())
	}
	if ctx.Err() != nil {
		return ctx.Err() // minio-go reports it in several ways, and so does the server
	}
	resp, answered := errors.AsType[minio.ErrorResponse](err)
	switch {
	case errors.Is(err, errOrder):
		return fmt.Errorf("%w: %w", blobstore.ErrRefused, err)
	case !answered:
		// No connection, no credentials to sign with, an answer cut short.
		return unanswered(err)
	case resp.Code == minio.NoSuchKey:
		// By its code and not by its status: a bucket or a user that does not
		// exist is a 404, too, and must not look like a lost object.
		return blobstore.ErrNotFound
	case resp.Code == objectIsBelowObject, resp.Code == objectIsDirectory:
		return fmt.Errorf("%w: there is an object on the way or below: %w", blobstore.ErrBadKey, err)
	case isPassing(resp):
		return fmt.Errorf("%w: %s%s", blobstore.ErrUnavailable, advice(resp), words(resp))
	default:
		return fmt.Errorf("%w: %s%s", blobstore.ErrRefused, advice(resp), words(resp))
	}
}

// words are the server's own. Where it had none, minio-go takes the status for
// both code and message.
func words(resp minio.ErrorResponse) string {
	if resp.Code == resp.Message {
		return resp.Code
	}
	return fmt.Sprintf("%s (%d): %s", resp.Code, resp.StatusCode, oneLine(resp.Message))
}

// oneLine is text without line breaks, and not too long.
func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// advice says what a refusal means and what mends it, or "" where the server's
// own words must do.
func advice(resp minio.ErrorResponse) string {
	switch resp.Code {
	case "SignatureDoesNotMatch":
		return "the secret key is not that of the access key, correct the credentials: "
	case "InvalidAccessKeyId", "XAdminUserNotFound", "InvalidClientTokenId", "InvalidToken":
		return "the server does not know the access key, correct the credentials: "
	case "ExpiredToken", "ExpiredTokenException":
		return "the credentials have expired, renew them: "
	case minio.AccessDenied, "AllAccessDisabled", "AccountProblem":
		return "the credentials may not do this, allow them to list the bucket and to get, put and delete its objects: "
	case minio.NoSuchBucket:
		return "the bucket does not exist, make it or correct its name: "
	case "RequestTimeTooSkewed":
		return "this host's clock is too far from the server's, set the clock: "
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException":
		return "the bucket is somewhere else, correct the region or the endpoint: "
	case "QuotaExceeded", "InsufficientStorage", "XMinioStorageFull":
		return "the server is full, give it room: "
	case "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch":
		return "the bytes were damaged on the way, look at the network if it stays so: "
	}
	switch {
	case isThrottling(resp), resp.StatusCode == http.StatusServiceUnavailable:
		return "the server has too much to do and asks for patience, give it room if it stays so: "
	case resp.StatusCode >= 500:
		return "the server fails, look into its log: "
	}
	return ""
}

// closedByServer begins what minio-go makes of an EOF; the URL is in it twice.
const closedByServer = "Connection closed by foreign host"

// unanswered names an error without an answer.
func unanswered(err error) error {
	advice, host := unansweredAdvice(err), ""
	if u, ok := errors.AsType[*url.Error](err); ok {
		if at, perr := url.Parse(u.URL); perr == nil {
			host = at.Host + ": "
		}
		err = u.Err
		if strings.HasPrefix(err.Error(), closedByServer) {
			advice, err = "the connection broke, look whether the server runs: ", io.ErrUnexpectedEOF
		}
	}
	return fmt.Errorf("%w: %s%s%w", blobstore.ErrUnavailable, advice, host, err)
}

// unansweredAdvice is advice for what never got an answer.
func unansweredAdvice(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the server's certificate is of an authority that is not trusted here, name that authority's file as the CA: "
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the server's certificate is for another name, correct the endpoint: "
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "the server's certificate is not valid now, renew it or set this host's clock: "
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS, write the endpoint with http:// or correct its port: "
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return "no such host, correct the endpoint: "
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "the server went silent, look whether it hangs: "
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "nobody answers there, start the server or correct the endpoint: "
	}
	return ""
}

// isPassing says whether a refusal is one that waiting mends.
func isPassing(resp minio.ErrorResponse) bool {
	switch resp.Code {
	case "RequestTimeout", "OperationAborted", "ExpiredToken", "ExpiredTokenException",
		"RequestTimeTooSkewed",                                     // clocks are set, most often by themselves
		"BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch", // damaged or cut short on the way
		"NoSuchUpload": // completed, but the answer was lost; or aborted by somebody
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
