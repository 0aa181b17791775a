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
)

// recordIn returns what keeps a deletion in bucket, as
// "reports/<log>/gc/<ulid>.jsonl": who, when and why in the first line, then a
// line for each blob.
func recordIn(bucket blobstore.Bucket) func(context.Context, gc.Deletion) error {
	return func(ctx context.Context, d gc.Deletion) error {
		var lines bytes.Buffer
		e := json.NewEncoder(&lines)
		head := d
		head.Blobs = nil
		if err := e.Encode(head); err != nil {
			return err
		}
		for _, b := range d.Blobs {
			if err := e.Encode(b); err != nil {
				return err
			}
		}
		key := fmt.Sprintf("reports/%s/gc/%s.jsonl", d.Log, ulid.Make())
		return bucket.Put(ctx, key, &lines, int64(lines.Len()))
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
