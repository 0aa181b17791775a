package gc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

const (
	logsPrefix      = "logs/"
	snapshotsPrefix = "snapshots/"
)

// Sign writes the object "logs/<log>/<identity>" into the bucket, which says that
// this log uses it, so that collectors of other logs leave its blobs alone. Every
// node does so when it starts.
func (c *Collector) Sign(ctx context.Context) error {
	key, err := c.signature(ctx)
	if err != nil {
		return err
	}
	_, err = c.cfg.Bucket.Stat(ctx, key)
	if !errors.Is(err, blobstore.ErrNotFound) {
		return err
	}
	b, err := json.Marshal(map[string]string{
		"log": c.cfg.Log.Name(), "node": c.cfg.Node, "time": c.cfg.Now().UTC().Format(time.RFC3339),
	})
	if err != nil {
		return err
	}
	return c.cfg.Bucket.Put(ctx, key, bytes.NewReader(b), int64(len(b)))
}

func (c *Collector) signature(ctx context.Context) (string, error) {
	identity, err := c.cfg.Log.Identity(ctx)
	return logsPrefix + c.cfg.Log.Name() + "/" + identity, err
}

// removeSignatures removes the signatures of logs that no longer exist.
func (c *Collector) removeSignatures(ctx context.Context, q Request, own string) error {
	for _, key := range q.Gone {
		log, identity, ok := strings.Cut(strings.TrimPrefix(key, logsPrefix), "/")
		if !strings.HasPrefix(key, logsPrefix) || !ok || log == "" || identity == "" || blobstore.CheckKey(key) != nil {
			return fmt.Errorf("%q is not a signature of a log, such as %s<log>/<time>: %w", key, logsPrefix, core.ErrInvalid)
		}
		if key == own {
			return fmt.Errorf("%s is the signature of this log: %w", key, core.ErrInvalid)
		}
	}
	for _, key := range q.Gone {
		if !q.Apply {
			continue
		}
		if err := c.cfg.Bucket.Delete(ctx, key); err != nil {
			return err
		}
		c.cfg.Logger.Warn("removing the signature of a log that no longer exists, as requested", "signature", key, "by", q.By, "why", q.Why)
	}
	return nil
}

// checkAlone returns core.ErrConflict if the bucket is not this log's alone:
// another log has signed it, or has snapshots in it, or there are snapshots of
// unknown sessions.
func (c *Collector) checkAlone(ctx context.Context, q Request) error {
	own, err := c.signature(ctx)
	if err != nil {
		return err
	}
	if err := c.removeSignatures(ctx, q, own); err != nil {
		return err
	}
	for info, err := range c.cfg.Bucket.List(ctx, logsPrefix) {
		if err != nil {
			return err
		}
		if info.Key != own && !slices.Contains(q.Gone, info.Key) {
			return fmt.Errorf("another log uses the bucket, too (%s), so no blob was touched: %w\n"+
				"hint: give each log its own blobs.s3.prefix; if that log no longer exists: sessctl blobs gc --gone %s", info.Key, core.ErrConflict, info.Key)
		}
	}
	last := ""
	for info, err := range c.cfg.Bucket.List(ctx, snapshotsPrefix) {
		if err != nil {
			return err
		}
		log, rest, _ := strings.Cut(strings.TrimPrefix(info.Key, snapshotsPrefix), "/")
		if log != c.cfg.Log.Name() {
			return fmt.Errorf("the bucket has snapshots of another log (%s), so no blob was touched: %w\n"+
				"hint: give each log its own blobs.s3.prefix", info.Key, core.ErrConflict)
		}
		session, _, _ := strings.Cut(rest, "/")
		if session == last {
			continue
		}
		last = session
		if err := c.checkKnown(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// Other returns the signature of another log that uses the same bucket and prefix,
// or "" if there is none.
func (c *Collector) Other(ctx context.Context) (key string, err error) {
	own, err := c.signature(ctx)
	if err != nil {
		return "", err
	}
	for info, err := range c.cfg.Bucket.List(ctx, logsPrefix) {
		if err != nil || info.Key != own {
			return info.Key, err
		}
	}
	return "", nil
}

// checkKnown returns core.ErrConflict if the log has nothing of a session that has
// a snapshot: the session is of another log of the same name, or was lost.
func (c *Collector) checkKnown(ctx context.Context, session string) error {
	id, err := core.ParseSessionID(session)
	if err == nil {
		err = c.cfg.Sessions.Has(ctx, id)
	}
	if errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrInvalid) {
		return fmt.Errorf("the bucket has snapshots of a session that the log lacks, %q, so no blob was touched: %w\n"+
			"hint: restore it (sessctl restore); if there is no backup, delete the objects %s%s/%s/", session, core.ErrConflict, snapshotsPrefix, c.cfg.Log.Name(), session)
	}
	return err
}
