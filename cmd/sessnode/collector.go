package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/stream"
)

// recordIn returns what keeps a deletion in bucket, as
// "reports/<log>/gc/<ulid>.jsonl": who, when and why in the first line, then a
// line for each blob; and says in the audit records that it is about to be done,
// and where that is.
func recordIn(bucket blobstore.Bucket, audit *stream.Audit) func(context.Context, gc.Deletion) error {
	return func(ctx context.Context, d gc.Deletion) error {
		var lines bytes.Buffer
		e := json.NewEncoder(&lines)
		head := d
		head.Blobs = nil
		if err := e.Encode(head); err != nil {
			return err
		}
		size := int64(0)
		for _, b := range d.Blobs {
			if err := e.Encode(b); err != nil {
				return err
			}
			size += b.Size
		}
		key := fmt.Sprintf("reports/%s/gc/%s.jsonl", d.Log, ulid.Make())
		if err := bucket.Put(ctx, key, &lines, int64(lines.Len())); err != nil {
			return err
		}
		return audit.Write(ctx, stream.AuditRecord{
			Act: "gc", By: d.By, Host: d.Host, Why: d.Why, Node: d.Node, Outcome: stream.AuditBegun,
			Detail: fmt.Sprintf("run %s: %d blobs, %d bytes are deleted, each named in %s", d.Run, len(d.Blobs), size, key),
		})
	}
}

// collectBlobs has blobs collected every so often, for the first time after a
// tenth of that, while this node is the one to do it, until ctx ends; never where
// every is 0.
func collectBlobs(ctx context.Context, every time.Duration, mine func() bool, collect func(context.Context) error, logger *slog.Logger) error {
	if every == 0 {
		return idle(ctx)
	}
	t := time.NewTimer(every / 10)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		t.Reset(every)
		if !mine() {
			continue
		}
		if err := collect(ctx); err != nil && ctx.Err() == nil {
			logger.Warn("blobs were not collected; trying again later", "again", every, "err", err)
		}
	}
}

// signAgain is how long a store that does not answer is left alone.
const signAgain = 5 * time.Second

// sign has the bucket say that this log keeps its blobs there, as soon as it
// answers.
func sign(ctx context.Context, c *gc.Collector, logger *slog.Logger) error {
	for said := false; ; said = true {
		err := c.Sign(ctx)
		if err == nil {
			if other, err := c.Other(ctx); err == nil && other != "" {
				logger.Warn("another log keeps its blobs in the same place: who may read one log can read the blobs of both; "+
					"give each a blobs.s3.prefix of its own where that must not be", "other", other)
			}
			return idle(ctx)
		}
		if !said && ctx.Err() == nil {
			logger.Warn("the bucket cannot be told whose blobs it keeps; trying again", "err", err)
		}
		select {
		case <-time.After(signAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
