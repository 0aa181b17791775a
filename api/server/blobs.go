package server

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

func (s *Server) blobs(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := limitOf(q.Get("limit"))
	if err != nil {
		return err
	}
	list := s.cfg.Blobs.List(r.Context())
	if q.Get("after") != "" {
		after, err := core.ParseDigest(q.Get("after"))
		if err != nil {
			return err
		}
		list = s.cfg.Blobs.ListAfter(r.Context(), blobstore.Ref(after))
	}
	out := api.BlobList{Blobs: []api.BlobInfo{}}
	for b, err := range list {
		if err != nil {
			return materializer.BlobError(err)
		}
		d := core.Digest(b.Ref)
		if len(out.Blobs) == limit {
			out.Next = out.Blobs[limit-1].Digest.String()
			break
		}
		out.Blobs = append(out.Blobs, api.BlobInfo{Digest: d, Size: b.Size, Modified: b.Modified})
	}
	return answer(w, http.StatusOK, out)
}

func (s *Server) blob(w http.ResponseWriter, r *http.Request) error {
	d, err := core.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return err
	}
	return s.writeBlob(w, r, d)
}

// readBlob reads a body whose digest the path names.
func (s *Server) readBlob(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	d, err := core.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return nil, nil, err
	}
	body, release, err = s.readContent(w, r)
	if err != nil {
		return nil, nil, err
	}
	if got := core.DigestOf(body); got != d {
		release()
		return nil, nil, fmt.Errorf("these %d bytes are %s, not %s: %w", len(body), got, d, core.ErrInvalid)
	}
	return body, release, nil
}

// putBlob stores bytes under the digest that the path names. To store what is
// there already is no error.
func (s *Server) putBlob(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBlob(w, r)
	if err != nil {
		return err
	}
	defer release()
	if _, err := s.cfg.Blobs.Put(r.Context(), body); err != nil {
		return materializer.BlobError(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// writeBlob answers with a blob's bytes. They are checked on the way: an answer
// that does not break off is whole.
func (s *Server) writeBlob(w http.ResponseWriter, r *http.Request, d core.Digest) error {
	body, err := s.cfg.Blobs.Open(r.Context(), blobstore.Ref(d))
	if err != nil {
		return s.noBlob(d, err)
	}
	defer body.Close()
	info, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(d))
	if err != nil {
		return s.noBlob(d, err)
	}
	if notModified(w, r, d.String()) {
		return nil
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(info.Size, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	if _, err := io.Copy(w, body); err != nil {
		s.logger(w).Warn("blob broke off", "blob", d, "err", err)
		return errBroken
	}
	return nil
}
