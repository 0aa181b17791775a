package server

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/upload"
)

// Uploads in parts speak tus 1.0.0, with its extensions creation, expiration and
// termination. What is then done with the bytes are two calls of our own.

// tus answers with h what speaks tus, on a node that takes uploads.
func (s *Server) tus(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set(api.HeaderTus, api.TusVersion)
		if s.cfg.Uploads == nil {
			return api.ErrNoUploads
		}
		if r.Method == http.MethodOptions || r.Header.Get(api.HeaderTus) == api.TusVersion {
			return h(w, r)
		}
		w.Header().Set("Tus-Version", api.TusVersion)
		writeDetail(w, api.Detail{
			Type: "urn:sesslog:tus-version", Code: "tus-version", Status: http.StatusPreconditionFailed, Title: "Another version of tus",
			Detail: fmt.Sprintf("%s is %.40q", api.HeaderTus, r.Header.Get(api.HeaderTus)), Next: "Send " + api.HeaderTus + ": " + api.TusVersion,
		})
		return nil
	}
}

// ownerOf is who may see the uploads of a caller: those with its token. Where
// nobody is asked who they are, that is everybody.
func ownerOf(r *http.Request) string { return callerOf(r.Context()).name }

// uploading says what a node takes.
func (s *Server) uploading(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Tus-Version", api.TusVersion)
	h.Set("Tus-Extension", api.TusExtensions)
	h.Set("Tus-Max-Size", strconv.FormatInt(callerOf(r.Context()).body(s.cfg.MaxBody), 10))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// beginUpload begins an upload, or finds the one that the caller began before.
func (s *Server) beginUpload(w http.ResponseWriter, r *http.Request) error {
	size, err := strconv.ParseInt(r.Header.Get(api.HeaderUploadLength), 10, 64)
	if err != nil || size < 1 {
		return fmt.Errorf("%s %.40q: say how many bytes the whole has: %w", api.HeaderUploadLength, r.Header.Get(api.HeaderUploadLength), core.ErrInvalid)
	}
	if most := callerOf(r.Context()).body(s.cfg.MaxBody); size > most {
		return fmt.Errorf("the upload would have %d bytes, %d are allowed (limits.body, or the token's): %w", size, most, core.ErrTooLarge)
	}
	d, err := announced(r.Header.Get(api.HeaderUploadMetadata))
	if err != nil {
		return err
	}
	u, err := s.cfg.Uploads.Begin(r.Context(), ownerOf(r), d, size)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/uploads/"+u.ID)
	tellUpload(w, u)
	w.WriteHeader(http.StatusCreated)
	return nil
}

// announced is the digest that an upload's metadata names under sha256.
func announced(metadata string) (core.Digest, error) {
	for pair := range strings.SplitSeq(metadata, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), " ")
		if key != "sha256" {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return core.Digest{}, fmt.Errorf("%s: sha256 is no base64: %w", api.HeaderUploadMetadata, core.ErrInvalid)
		}
		return core.ParseDigest("sha256:" + string(text))
	}
	return core.Digest{}, fmt.Errorf("%s names no sha256; send sha256 and, in base64, the 64 hexadecimal digits of the whole's SHA-256: %w", api.HeaderUploadMetadata, core.ErrInvalid)
}

func tellUpload(w http.ResponseWriter, u upload.Upload) {
	h := w.Header()
	h.Set(api.HeaderUploadOffset, strconv.FormatInt(u.Offset, 10))
	h.Set(api.HeaderUploadExpires, u.Expires.UTC().Format(http.TimeFormat))
}

func (s *Server) uploadState(w http.ResponseWriter, r *http.Request) error {
	u, err := s.cfg.Uploads.Look(r.Context(), ownerOf(r), r.PathValue("upload"))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set(api.HeaderUploadLength, strconv.FormatInt(u.Size, 10))
	tellUpload(w, u)
	w.WriteHeader(http.StatusOK)
	return nil
}

// uploadPart takes the next bytes of an upload. Those that arrived of a request
// that broke off are kept.
func (s *Server) uploadPart(w http.ResponseWriter, r *http.Request) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != api.PartType {
		writeDetail(w, api.Detail{
			Type: "urn:sesslog:media-type", Code: "media-type", Status: http.StatusUnsupportedMediaType, Title: "Not that type of body",
			Detail: fmt.Sprintf("Content-Type is %.80q", r.Header.Get("Content-Type")), Next: "Send Content-Type: " + api.PartType,
		})
		return nil
	}
	offset, err := strconv.ParseInt(r.Header.Get(api.HeaderUploadOffset), 10, 64)
	if err != nil || offset < 0 {
		return fmt.Errorf("%s %.40q: say where these bytes begin: %w", api.HeaderUploadOffset, r.Header.Get(api.HeaderUploadOffset), core.ErrInvalid)
	}
	from := &patient{rc: http.NewResponseController(w), body: r.Body}
	u, err := s.cfg.Uploads.Append(r.Context(), ownerOf(r), r.PathValue("upload"), offset, from)
	if err == nil {
		_ = from.wait(time.Time{}) // it was set a moment ago; else it stays, for the server waits for the rest of the body
	}
	if u.ID != "" {
		tellUpload(w, u)
	}
	if err != nil {
		return partError(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// partError says of a part that did not arrive whole whose fault that is.
func partError(err error) error {
	for _, known := range []error{core.ErrInvalid, core.ErrNotFound, core.ErrFull, upload.ErrOffset} {
		if errors.Is(err, known) {
			return err
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("the part is larger than a request may be (limits.body, or the token's): %w", core.ErrTooLarge)
	}
	return fmt.Errorf("the part broke off: %v: %w", err, core.ErrUnavailable)
}

// A patient reads a body whose sender may let it wait for a while, and which may
// be interrupted.
type patient struct {
	rc          *http.ResponseController
	body        io.Reader
	interrupted atomic.Bool
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.wait(time.Now().Add(bodyWait)); err != nil {
		return 0, err
	}
	if p.interrupted.Load() { // also where it was just before the deadline was set
		return 0, errInterrupted
	}
	return p.body.Read(b)
}

func (p *patient) wait(until time.Time) error {
	err := p.rc.SetReadDeadline(until)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Interrupt ends a Read that waits, and all that follow.
func (p *patient) Interrupt() {
	p.interrupted.Store(true)
	_ = p.wait(time.Unix(1, 0)) // then it waits for bodyWait
}

var errInterrupted = errors.New("somebody asked for the upload meanwhile")

func (s *Server) dropUpload(w http.ResponseWriter, r *http.Request) error {
	if err := s.cfg.Uploads.Remove(r.Context(), ownerOf(r), r.PathValue("upload")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// importUpload imports the file that was uploaded. The upload stays, so that the
// call can be repeated.
func (s *Server) importUpload(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := s.readUpload(r)
	if err != nil {
		return err
	}
	defer release()
	return s.importBytes(w, r, raw)
}

// uploadedBlob stores what was uploaded as a blob. The upload stays.
func (s *Server) uploadedBlob(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := s.readUpload(r)
	if err != nil {
		return err
	}
	defer release()
	if _, err := s.cfg.Blobs.Put(r.Context(), raw); err != nil {
		return materializer.BlobError(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readUpload returns the bytes of an upload that is whole, once their digest was
// compared. Where it is another, the upload is removed: nobody can tell which of
// its bytes are wrong. The caller calls release when it is done with them.
func (s *Server) readUpload(r *http.Request) (raw []byte, release func(), err error) {
	if s.cfg.Uploads == nil {
		return nil, nil, api.ErrNoUploads
	}
	u, from, err := s.cfg.Uploads.Read(r.Context(), ownerOf(r), r.PathValue("upload"))
	if err != nil {
		return nil, nil, err
	}
	defer from.Close()
	if release, err = s.gates.large.take(r.Context(), u.Size); err != nil {
		return nil, nil, err
	}
	buf := bytes.NewBuffer(make([]byte, 0, u.Size+bytes.MinRead))
	if _, err = buf.ReadFrom(from); err == nil && core.DigestOf(buf.Bytes()) != u.SHA256 {
		_ = s.cfg.Uploads.Remove(r.Context(), u.Owner, u.ID) // else it expires
		err = fmt.Errorf("the %d bytes of upload %s are not %s, as was announced; they are dropped: %w", buf.Len(), u.ID, u.SHA256, upload.ErrDigest)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return buf.Bytes(), release, nil
}
