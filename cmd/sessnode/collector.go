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
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/stream"
)

// recordDeletions returns a function that records a deletion before it happens: it
// writes "reports/<log>/gc/<ulid>.jsonl" to bucket, with a line for the run and one
// for each blob, and an audit record that names it.
func recordDeletions(bucket blobstore.Bucket, audit *stream.Audit) func(context.Context, gc.Deletion) error {
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
		return audit.Write(ctx, report.AuditRecord{
			Act: "gc", By: d.By, Host: d.Host, Why: d.Why, Node: d.Node, Outcome: report.AuditBegun,
			Detail: fmt.Sprintf("run %s: deleting %d blobs, %d bytes, listed in %s", d.Run, len(d.Blobs), size, key),
		})
	}
}

// collectBlobs calls collect at every interval in which this node is responsible,
// until ctx ends. The first time is after a tenth of the interval. An interval of 0
// disables it.
func collectBlobs(ctx context.Context, interval time.Duration, responsible func() bool, collect func(context.Context) error, logger *slog.Logger) error {
	if interval == 0 {
		return idle(ctx)
	}
	t := time.NewTimer(interval / 10)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		t.Reset(interval)
		if !responsible() {
			continue
		}
		if err := collect(ctx); err != nil && ctx.Err() == nil {
			logger.Warn("blobs were not collected", "retryIn", interval, "err", err)
		}
	}
}

// signRetry is the pause between two attempts to sign the bucket.
const signRetry = 5 * time.Second

// signBucket marks the bucket as used by this log as soon as it is available, and
// then waits until ctx ends.
func signBucket(ctx context.Context, c *gc.Collector, logger *slog.Logger) error {
	for warned := false; ; warned = true {
		err := c.Sign(ctx)
		if err == nil {
			if other, err := c.Other(ctx); err == nil && other != "" {
				logger.Warn("another log uses the same bucket and prefix, so readers of one log can read the blobs of both; "+
					"set a different blobs.s3.prefix for each to prevent that", "other", other)
			}
			return idle(ctx)
		}
		if !warned && ctx.Err() == nil {
			logger.Warn("the bucket cannot be marked as used by this log; retrying", "err", err)
		}
		if err := retry.Wait(ctx, signRetry); err != nil {
			return err
		}
	}
}
