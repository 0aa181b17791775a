package stream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func openAudit(t *testing.T) (*stream.Audit, jetstream.JetStream) {
	t.Helper()
	js, err := jetstream.New(streamtest.Connect(t, embeddedtest.Start(t)))
	if err != nil {
		t.Fatal(err)
	}
	a, err := stream.OpenAudit(t.Context(), js, "main", 1)
	if err != nil {
		t.Fatal(err)
	}
	return a, js
}

func TestAuditReadReturnsRecordsInOrder(t *testing.T) {
	t.Parallel()
	a, _ := openAudit(t)
	for i := range 5 {
		r := report.AuditRecord{Act: "erase", Session: "session-1", By: "ada", Why: fmt.Sprint(i), Outcome: report.AuditDone, N: 99}
		if err := a.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	rs, err := a.Read(t.Context(), 2, time.Time{})
	if err != nil || len(rs) != 3 || rs[0].Why != "2" || rs[2].Why != "4" || rs[0].N != 3 || rs[0].Time.IsZero() {
		t.Fatalf("after record 2: %+v, %v", rs, err)
	}
	if rs, err = a.Read(t.Context(), 0, time.Now().Add(time.Hour)); err != nil || len(rs) != 0 {
		t.Errorf("since an hour from now: %+v, %v", rs, err)
	}
	if rs, err = a.Read(t.Context(), 5, time.Time{}); err != nil || len(rs) != 0 {
		t.Errorf("after the end: %+v, %v", rs, err)
	}
}

func TestAuditRecordsCannotBeDeleted(t *testing.T) {
	t.Parallel()
	a, js := openAudit(t)
	if err := a.Write(t.Context(), report.AuditRecord{Act: "erase", Outcome: report.AuditDone}); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "SESSAUDIT_main")
	if err != nil {
		t.Fatal(err)
	}
	if s.Purge(t.Context()) == nil || s.DeleteMsg(t.Context(), 1) == nil {
		t.Error("an audit record was deleted")
	}
	if _, err := stream.OpenAudit(t.Context(), js, "main", 1); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

func TestAuditWriteTruncatesLongTexts(t *testing.T) {
	t.Parallel()
	a, _ := openAudit(t)
	long := strings.Repeat("é<\x01", 1<<20)
	if err := a.Write(t.Context(), report.AuditRecord{Act: long, By: long, Host: long, Node: long, Why: long + "\xff", Outcome: report.AuditDone, Detail: long}); err != nil {
		t.Fatal(err)
	}
	rs, err := a.Read(t.Context(), 0, time.Time{})
	if err != nil || len(rs) != 1 || len(rs[0].Why) > 4<<10 || !strings.HasSuffix(rs[0].Why, "…") {
		t.Errorf("%d records, %v", len(rs), err)
	}
}

func TestAuditWriteToFullStreamNamesRemedy(t *testing.T) {
	t.Parallel()
	a, js := openAudit(t)
	s, err := js.Stream(t.Context(), "SESSAUDIT_main")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs = 10
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err = a.Write(t.Context(), report.AuditRecord{Act: "erase", Outcome: report.AuditDone}); err != nil {
			break
		}
	}
	if !errors.Is(err, core.ErrFull) || !strings.Contains(err.Error(), "max_msgs") {
		t.Errorf("write to a full stream: %v", err)
	}
	if rs, err := a.Read(t.Context(), 0, time.Time{}); err != nil || len(rs) == 0 {
		t.Errorf("read of the full stream: %d records, %v", len(rs), err)
	}
}

func TestOpenAuditRejectsStreamThatDeletesRecords(t *testing.T) {
	t.Parallel()
	_, js := openAudit(t)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "SESSAUDIT_other", Subjects: []string{"sessaudit.other"}, MaxAge: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.OpenAudit(t.Context(), js, "other", 1); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("it was opened: %v", err)
	}
}
