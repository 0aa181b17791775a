package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/gc"
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

// readBlob reads a body and verifies it against the digest in the path.
func (s *Server) readBlob(r *http.Request) (body []byte, release func(), err error) {
	d, err := core.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return nil, nil, err
	}
	body, release, err = s.readContent(r)
	if err != nil {
		return nil, nil, err
	}
	if got := core.DigestOf(body); got != d {
		release()
		return nil, nil, fmt.Errorf("these %d bytes are %s, not %s: %w", len(body), got, d, core.ErrInvalid)
	}
	return body, release, nil
}

// putBlob stores bytes under the digest in the path. Storing an existing blob is
// not an error.
func (s *Server) putBlob(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBlob(r)
	if err != nil {
		return err
	}
	defer release()
	d, err := s.cfg.Blobs.Put(r.Context(), body)
	if err != nil {
		return materializer.BlobError(err)
	}
	if prefix := callerOf(r.Context()).Prefix; prefix != "" {
		s.parts.add(prefix, core.Digest(d))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// writeBlob answers with a blob's bytes and verifies them as it sends: an answer
// that is not cut off is complete.
func (s *Server) writeBlob(w http.ResponseWriter, r *http.Request, d core.Digest) error {
	body, err := s.cfg.Blobs.Open(r.Context(), blobstore.Ref(d))
	if err != nil {
		return s.blobError(d, err)
	}
	defer body.Close()
	info, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(d))
	if err != nil {
		return s.blobError(d, err)
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
		return errAborted
	}
	return nil
}

// blobInfo answers with what is known about a blob without reading it.
func (s *Server) blobInfo(w http.ResponseWriter, r *http.Request) error {
	d, err := core.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return err
	}
	info, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(d))
	if errors.Is(err, blobstore.ErrNotFound) { // or all of the bucket is gone, which only reading tells
		if body, oerr := s.cfg.Blobs.Open(r.Context(), blobstore.Ref(d)); oerr == nil {
			_ = body.Close()
		} else {
			err = oerr
		}
	}
	if err != nil {
		return s.blobError(d, err)
	}
	return answer(w, http.StatusOK, api.BlobStat{
		BlobInfo: api.BlobInfo{Digest: d, Size: info.Size, Modified: info.Modified},
		Cached:   s.cfg.Blobs.Has(blobstore.Ref(d)),
		Sessions: s.sessionsWithBlob(r.Context(), d),
	})
}

// sessionsWithBlob returns the sessions in memory that refer to d, sorted.
func (s *Server) sessionsWithBlob(ctx context.Context, d core.Digest) []core.SessionID {
	ids := []core.SessionID{}
	for _, open := range s.cfg.Cache.Sessions() {
		if ctx.Err() != nil {
			break // the caller left
		}
		_ = open.View(func(st *core.State) error {
			if slices.Contains(st.Blobs(), d) {
				ids = append(ids, st.ID)
			}
			return nil
		})
	}
	slices.Sort(ids)
	return ids
}

// blobError adds the blob's digest to err if it does not exist.
func (s *Server) blobError(d core.Digest, err error) error {
	if errors.Is(err, blobstore.ErrNotFound) {
		return fmt.Errorf("blob %s: %w", d, core.ErrNotFound)
	}
	return materializer.BlobError(err)
}

// verifyBlob reads a blob from where it is stored.
func (s *Server) verifyBlob(w http.ResponseWriter, r *http.Request) error {
	d, err := core.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return err
	}
	rep, err := s.checkBlob(r.Context(), d)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, rep)
}

// repairBlob verifies a blob and writes it again if it is damaged and this node
// has a copy.
func (s *Server) repairBlob(w http.ResponseWriter, r *http.Request) error {
	d, err := core.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return err
	}
	rep, err := s.checkBlob(r.Context(), d)
	if err != nil {
		return err
	}
	if p, ok := s.cfg.Blobs.Cached(blobstore.Ref(d)); ok && rep.State != api.BlobSound {
		if _, err := s.cfg.Blobs.Rewrite(r.Context(), p); err != nil {
			return materializer.BlobError(err)
		}
		was := rep.Detail
		if rep, err = s.checkBlob(r.Context(), d); err != nil {
			return err
		}
		if rep.Repaired = rep.State == api.BlobSound; rep.Repaired {
			rep.Detail = was
			s.cfg.Logger.Info("blob written again from this node's copy", "blob", d, "was", was)
		}
	}
	return answer(w, http.StatusOK, rep)
}

func (s *Server) checkBlob(ctx context.Context, d core.Digest) (api.BlobReport, error) {
	rep := api.BlobReport{Digest: d, State: api.BlobSound}
	err := s.cfg.Blobs.Check(ctx, blobstore.Ref(d))
	switch {
	case err == nil:
		return rep, nil
	case errors.Is(err, blobstore.ErrCorrupt):
		rep.State = api.BlobDamaged
	case errors.Is(err, blobstore.ErrNotFound):
		rep.State = api.BlobMissing
	default:
		return api.BlobReport{}, materializer.BlobError(err)
	}
	rep.Detail = err.Error()
	rep.Next = "import a file again that has it (sessctl import --again FILE), or bring it from a copy of the object store with: sessctl blobs put FILE"
	return rep, nil
}

// maxGone bounds GCRequest.Gone.
const maxGone = 100

// collect runs the garbage collection of blobs. It reads every session.
func (s *Server) collect(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Collector == nil {
		return fmt.Errorf("this node collects no blobs: %w", core.ErrNotFound)
	}
	var q api.GCRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.By, q.Host, q.Why); err != nil {
		return err
	}
	if len(q.Gone) > maxGone {
		return fmt.Errorf("%d logs are said to be gone, %d are allowed in one request: %w", len(q.Gone), maxGone, core.ErrInvalid)
	}
	if len(q.Gone) > 0 && q.Apply && q.Why == "" {
		return fmt.Errorf("there is no why; say how it is known that the log is gone: %w", core.ErrInvalid)
	}
	run := gc.Request{Apply: q.Apply, By: q.By, Host: q.Host, Why: q.Why, Gone: q.Gone}
	if q.Grace != "" {
		var err error
		if run.Grace, err = time.ParseDuration(q.Grace); err != nil || run.Grace <= 0 {
			return fmt.Errorf("grace %q is no time such as 48h: %w", q.Grace, core.ErrInvalid)
		}
	}
	report, err := s.collectAudited(r.Context(), run)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}

// collectAudited runs the collector and records the outcome if it deleted or
// moved blobs, or failed. The collector itself records beforehand what it is
// about to delete.
func (s *Server) collectAudited(ctx context.Context, q gc.Request) (*report.GC, error) {
	report, err := s.cfg.Collector.Run(ctx, q)
	if !q.Apply || s.cfg.Audit == nil {
		return report, err
	}
	detail := ""
	if len(q.Gone) > 0 {
		detail = fmt.Sprintf("permanently gone: %q; ", q.Gone)
	}
	if err == nil {
		detail += fmt.Sprintf("run %s: %d blobs, %d bytes deleted; %d blobs moved to the trash, %d put back",
			report.Run, report.Deleted.Blobs, report.Deleted.Bytes, report.Moved.Blobs, report.PutBack.Blobs)
	}
	if err != nil || len(q.Gone) > 0 || report.Deleted.Blobs+report.Moved.Blobs+report.PutBack.Blobs > 0 {
		s.auditOutcome(ctx, act{"gc", "", api.Notice{By: q.By, Host: q.Host, Why: q.Why}}, detail, err)
	}
	return report, err
}

// CollectBlobs collects blobs on behalf of the node.
func (s *Server) CollectBlobs(ctx context.Context) error {
	_, err := s.collectAudited(ctx, gc.Request{Apply: true, By: "sessnode", Host: s.cfg.Node, Why: "blobs.collect is set"})
	return err
}
