package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// A Rig is a server with a log, and another that flushes each message, with streams of
// the same settings for raw publishing.
type Rig struct {
	dir       string
	server    *embedded.Server
	conn      *nats.Conn
	rawServer *embedded.Server
	rawConn   *nats.Conn
	bucket    *fsblob.Bucket
	log       *stream.Log
	sessions  *engine.Sessions
	js        jetstream.JetStream
}

// rawShards is the number of streams for raw publishing: that of a log on a single
// server.
const rawShards = 4

// NewRig starts the servers in a new directory below dir. With group, appends share
// flushes, as those of a node with nats.sync: group do.
func NewRig(ctx context.Context, dir string, group bool) (*Rig, error) {
	dir, err := os.MkdirTemp(dir, "sesslog-bench-")
	if err != nil {
		return nil, err
	}
	r := &Rig{dir: dir}
	if err := r.start(ctx, group); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rig) start(ctx context.Context, group bool) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	if r.server, err = embedded.Start(ctx, embedded.Config{Dir: filepath.Join(r.dir, "nats"), GroupCommit: group, Logger: quiet}); err != nil {
		return err
	}
	if r.conn, err = r.server.Connect(); err != nil {
		return err
	}
	if r.rawServer, err = embedded.Start(ctx, embedded.Config{Dir: filepath.Join(r.dir, "raw"), Logger: quiet}); err != nil {
		return err
	}
	if r.rawConn, err = r.rawServer.Connect(); err != nil {
		return err
	}
	if r.js, err = jetstream.New(r.rawConn); err != nil {
		return err
	}
	if r.bucket, err = fsblob.Open(filepath.Join(r.dir, "blobs")); err != nil {
		return err
	}
	blobs := materializer.NewBlobs(blobstore.New(r.bucket))
	lc := stream.LogConfig{Name: "bench", Blobs: blobs}
	if group {
		lc.Durable = r.server.Durable
	}
	if r.log, err = stream.OpenLog(ctx, r.conn, lc); err != nil {
		return err
	}
	r.sessions = engine.NewSessions(engine.Config{
		Log: r.log, Blobs: blobs, Snapshots: materializer.NewSnapshots(r.bucket), Dialects: dialect.All(), Logger: quiet,
	})
	for i := range rawShards {
		_, err := r.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: fmt.Sprintf("RAW_%d", i), Subjects: []string{fmt.Sprintf("raw.%d.*", i)},
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew, AllowDirect: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close stops the server and removes its directory.
func (r *Rig) Close() {
	for _, c := range []*nats.Conn{r.conn, r.rawConn} {
		if c != nil {
			c.Close()
		}
	}
	for _, s := range []*embedded.Server{r.server, r.rawServer} {
		if s != nil {
			_ = s.Close()
		}
	}
	if r.bucket != nil {
		_ = r.bucket.Close()
	}
	_ = os.RemoveAll(r.dir)
}

// session creates a session of the pi dialect.
func (r *Rig) session(ctx context.Context, id string, es []core.Entry) (*engine.Session, error) {
	d := dialect.All()["pi"]
	h, err := d.Header(d.NewHeader(core.HeaderFields{ID: id, Time: "2026-01-02T03:04:05.000Z", CWD: "/w"}))
	if err != nil {
		return nil, err
	}
	return r.sessions.Create(ctx, engine.CreateRequest{ID: core.SessionID(id), Origin: core.Origin{Dialect: "pi"}, Header: h, Entries: es})
}
