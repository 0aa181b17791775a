package interop_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// logOpener opens the session in the file at path from a separate log. It does the
// same as a node that does not have the session in memory, without HTTP. The log has a
// checkpoint; each opening fetches and verifies its snapshot and reads the records
// after it.
func logOpener(path string) (opened, error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sesslog-interop-")
	if err != nil {
		return opened{}, err
	}
	defer os.RemoveAll(dir)
	ss, id, err := logOf(ctx, dir, path)
	if err != nil {
		return opened{}, err
	}
	return openings(func() ([]byte, error) {
		s, err := ss.Open(ctx, id)
		if err != nil {
			return nil, err
		}
		var built json.RawMessage
		err = s.View(func(st *core.State) (err error) {
			built, err = st.Dialect.Context(st.Entries, st.Leaf(core.MainHead))
			return err
		})
		if err != nil {
			return nil, err
		}
		return ss.Inline(ctx, built)
	})
}

// logOf makes a log below dir with one session from the file at path. It runs until
// the process ends.
func logOf(ctx context.Context, dir, path string) (*engine.Sessions, core.SessionID, error) {
	const id = "big-session"
	quiet := slog.New(slog.DiscardHandler)
	server, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dir, "nats"), Logger: quiet})
	if err != nil {
		return nil, "", err
	}
	conn, err := server.Connect()
	if err != nil {
		return nil, "", err
	}
	bucket, err := fsblob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return nil, "", err
	}
	blobs := materializer.NewBlobs(blobstore.New(bucket))
	log, err := stream.OpenLog(ctx, conn, stream.LogConfig{Name: "interop", Blobs: blobs})
	if err != nil {
		return nil, "", err
	}
	snapshots := materializer.NewSnapshots(bucket)
	ss := engine.NewSessions(engine.Config{Log: log, Blobs: blobs, Snapshots: snapshots, Dialects: dialect.All(), Logger: quiet})
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	f, _, err := dialect.Read("pi", data)
	if err != nil {
		return nil, "", err
	}
	s, err := ss.Create(ctx, engine.CreateRequest{ID: id, Origin: core.Origin{Dialect: "pi"}, Header: f.Header, Entries: f.Entries})
	if err != nil {
		return nil, "", err
	}
	d := s.Draft(func(seq uint64, sum core.Digest) string { return materializer.SnapshotKey("interop", id, seq, sum) })
	if err := snapshots.Save(ctx, d.Manifest, d.Plain); err != nil {
		return nil, "", err
	}
	return ss, id, s.Checkpoint(ctx, d)
}
