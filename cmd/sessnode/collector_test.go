package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"

	"github.com/nats-io/nats.go/jetstream"
)

func TestResponsibleNodeCollectsBlobsRepeatedly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked, collected atomic.Int64
	responsible := func() bool { return asked.Add(1) > 2 } // another node is responsible at first
	collect := func(context.Context) error {
		if asked.Load() <= 2 {
			t.Error("collected while another node is responsible")
		}
		if collected.Add(1) == 3 {
			cancel()
		}
		return core.ErrUnavailable // must not stop it
	}
	if err := collectBlobs(ctx, time.Millisecond, responsible, collect, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := collected.Load(); n < 3 {
		t.Errorf("collected %d times", n)
	}
}

func TestZeroIntervalDisablesCollection(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never := func() bool { t.Error("asked although disabled"); return true }
	if err := collectBlobs(ctx, 0, never, nil, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Nothing is deleted unless both were written.
func TestDeletionIsRecordedInBucketAndAudit(t *testing.T) {
	t.Parallel()
	conn, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	audit, err := stream.OpenAudit(t.Context(), js, "main", 1)
	if err != nil {
		t.Fatal(err)
	}
	bucket := memblob.New()
	d := gc.Deletion{Run: "run-1", Log: "main", Node: "n1", By: "ada", Host: "desk", Why: "cleaning", Blobs: []gc.Deleted{{Size: 10}, {Size: 20}}}
	if err := recordDeletions(bucket, audit)(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for info, err := range bucket.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	rs, err := audit.Read(t.Context(), 0, time.Time{})
	if err != nil || len(rs) != 1 || len(keys) != 1 {
		t.Fatalf("%+v, %v, in the bucket %q", rs, err, keys)
	}
	want := "run run-1: deleting 2 blobs, 30 bytes, listed in " + keys[0]
	if r := rs[0]; r.Act != "gc" || r.Outcome != report.AuditBegun || r.By != "ada" || r.Why != "cleaning" || r.Detail != want {
		t.Errorf("recorded: %+v", r)
	}
	conn.Close()
	if err := recordDeletions(bucket, audit)(t.Context(), d); err == nil {
		t.Error("a deletion that cannot be recorded is allowed")
	}
}
