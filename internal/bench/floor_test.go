package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// BenchmarkFloor measures the least that an append costs: a publish with a sequence check
// to JetStream in the same process and a shared flush, without and with net/http. A node
// does more for each append.
func BenchmarkFloor(b *testing.B) {
	r, err := NewRig(b.Context(), b.TempDir(), true)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	store := storing(b, r)
	b.Run("in process", func(b *testing.B) {
		floor(b, r, func(_ context.Context, i int) (writer, error) {
			subject, next := newSubject(i), lines(uint64(i))
			return func(ctx context.Context) error {
				_, err := store(ctx, subject, next())
				return err
			}, nil
		})
	})
	b.Run("over HTTP", func(b *testing.B) {
		srv := httptest.NewServer(publishing(store))
		b.Cleanup(srv.Close)
		floor(b, r, func(ctx context.Context, i int) (writer, error) {
			p, err := NewPoster(ctx, srv.URL+"/"+newSubject(i), "text/plain")
			if err != nil {
				return nil, err
			}
			b.Cleanup(func() { _ = p.Close() })
			next := lines(uint64(i))
			return func(context.Context) error { return p.Post(next()) }, nil
		})
	})
}

// floor compares the writers that open opens with raw publishing.
func floor(b *testing.B, r *Rig, open func(context.Context, int) (writer, error)) {
	var runs [][]Result
	for range b.N {
		raw, err := measure(b.Context(), rawName, manyWriters, 2*time.Second, ownTime, r.rawWriter)
		if err != nil {
			b.Fatal(err)
		}
		least, err := measure(b.Context(), "JetStream alone", manyWriters, 2*time.Second, ownTime, open)
		if err != nil {
			b.Fatal(err)
		}
		runs = append(runs, []Result{raw, least.relativeTo(raw)})
	}
	medians := Medians(runs)
	b.ReportMetric(medians[0].PerSec, "raw/s")
	b.ReportMetric(medians[1].PerSec, "floor/s")
	b.ReportMetric(medians[1].Ratio, "floor-to-raw")
}

// newSubject returns the last part of a subject that no other writer has.
func newSubject(i int) string { return fmt.Sprintf("%d-%d", i, time.Now().UnixNano()) }

// storing returns a function that stores a message, and returns its sequence when it is
// flushed. A subject has one writer.
func storing(b *testing.B, r *Rig) func(ctx context.Context, subject string, data []byte) (uint64, error) {
	js, err := jetstream.New(r.conn)
	if err != nil {
		b.Fatal(err)
	}
	const stream = "FLOOR"
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{"floor.*"}, Discard: jetstream.DiscardNew}); err != nil {
		b.Fatal(err)
	}
	var last sync.Map // the last sequence of each subject
	return func(ctx context.Context, subject string, data []byte) (uint64, error) {
		after, _ := last.LoadOrStore(subject, uint64(0))
		m := &nats.Msg{Subject: "floor." + subject, Data: data}
		ack, err := js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(after.(uint64)))
		if err != nil {
			return 0, err
		}
		last.Store(subject, ack.Sequence)
		return ack.Sequence, r.server.Durable(ctx, stream, ack.Sequence)
	}
}

// publishing returns a handler that stores the body of a request to /SUBJECT.
func publishing(store func(ctx context.Context, subject string, data []byte) (uint64, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{subject}", func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		at, err := store(req.Context(), req.PathValue("subject"), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, strconv.FormatUint(at, 10))
	})
	return mux
}
