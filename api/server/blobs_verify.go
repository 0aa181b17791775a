package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
)

// blobInfo says what is known of a blob without reading it.
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
		return s.noBlob(d, err)
	}
	return answer(w, http.StatusOK, api.BlobStat{
		BlobInfo: api.BlobInfo{Digest: d, Size: info.Size, Modified: info.Modified},
		Cached:   s.cfg.Blobs.Has(blobstore.Ref(d)),
		Sessions: s.naming(r.Context(), d),
	})
}

// naming returns the sessions in memory that name d, sorted.
func (s *Server) naming(ctx context.Context, d core.Digest) []core.SessionID {
	ids := []core.SessionID{}
	for _, open := range s.cfg.Cache.Sessions() {
		if ctx.Err() != nil {
			break // nobody waits for it
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

// noBlob is why the blob d cannot be had.
func (s *Server) noBlob(d core.Digest, err error) error {
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
	rep, err := s.lookAtBlob(r.Context(), d)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, rep)
}

// repairBlob is verifyBlob that writes a blob again whose bytes are kept here.
func (s *Server) repairBlob(w http.ResponseWriter, r *http.Request) error {
	d, err := core.ParseDigest(r.PathValue("digest"))
	if err != nil {
		return err
	}
	rep, err := s.lookAtBlob(r.Context(), d)
	if err != nil {
		return err
	}
	if p, ok := s.cfg.Blobs.Cached(blobstore.Ref(d)); ok && rep.State != api.BlobSound {
		if _, err := s.cfg.Blobs.Rewrite(r.Context(), p); err != nil {
			return materializer.BlobError(err)
		}
		was := rep.Detail
		if rep, err = s.lookAtBlob(r.Context(), d); err != nil {
			return err
		}
		if rep.Mended = rep.State == api.BlobSound; rep.Mended {
			rep.Detail = was
			s.cfg.Logger.Info("blob written again from this node's copy", "blob", d, "was", was)
		}
	}
	return answer(w, http.StatusOK, rep)
}

func (s *Server) lookAtBlob(ctx context.Context, d core.Digest) (api.BlobReport, error) {
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
