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

// BenchmarkFloor measures the least that an append over HTTP costs: net/http, a publish
// with a sequence check to JetStream in the same process, and a shared flush. A node does
// more for each append.
func BenchmarkFloor(b *testing.B) {
	r, err := NewRig(b.Context(), b.TempDir(), true)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	srv := httptest.NewServer(publishing(b, r))
	b.Cleanup(srv.Close)
	open := func(ctx context.Context, i int) (writer, error) {
		p, err := NewPoster(ctx, srv.URL+"/"+strconv.Itoa(i), "text/plain")
		if err != nil {
			return nil, err
		}
		b.Cleanup(func() { _ = p.Close() })
		next := lines(uint64(i))
		return func(context.Context) error { return p.Post(next()) }, nil
	}
	var runs [][]Result
	for range b.N {
		raw, err := measure(b.Context(), rawName, manyWriters, 2*time.Second, ownTime, r.rawWriter)
		if err != nil {
			b.Fatal(err)
		}
		floor, err := measure(b.Context(), "HTTP and JetStream alone", manyWriters, 2*time.Second, ownTime, open)
		if err != nil {
			b.Fatal(err)
		}
		runs = append(runs, []Result{raw, floor.relativeTo(raw)})
	}
	medians := Medians(runs)
	b.ReportMetric(medians[0].PerSec, "raw/s")
	b.ReportMetric(medians[1].PerSec, "floor/s")
	b.ReportMetric(medians[1].Ratio, "floor-to-raw")
}

// publishing returns a handler that stores the body of a request to /SUBJECT, and answers
// when it is flushed. A subject has one writer.
func publishing(b *testing.B, r *Rig) http.Handler {
	js, err := jetstream.New(r.conn)
	if err != nil {
		b.Fatal(err)
	}
	const stream = "FLOOR"
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: stream, Subjects: []string{"floor.*"}, Discard: jetstream.DiscardNew}); err != nil {
		b.Fatal(err)
	}
	var last sync.Map // the last sequence of each subject
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{subject}", func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		subject := "floor." + req.PathValue("subject")
		after, _ := last.LoadOrStore(subject, uint64(0))
		ack, err := js.PublishMsg(req.Context(), &nats.Msg{Subject: subject, Data: body}, jetstream.WithExpectLastSequencePerSubject(after.(uint64)))
		if err == nil {
			last.Store(subject, ack.Sequence)
			err = r.server.Durable(req.Context(), stream, ack.Sequence)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, ack.Sequence)
	})
	return mux
}
