package doctor

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

func TestChangedStreamSettingsAreDanger(t *testing.T) {
	t.Parallel()
	nc, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	blobs := materializer.NewBlobs(blobstore.New(memblob.New()))
	l, err := stream.OpenLog(t.Context(), nc, stream.LogConfig{Shards: 2, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	d := &Doctor{Log: l}
	look := func() []treatable {
		t.Helper()
		f := &finder{}
		if _, err := d.streams(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		return f.all()
	}
	if found := look(); len(found) != 0 {
		t.Errorf("of streams as they should be: %+v", found)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "SESS_main_01")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.Discard = jetstream.DiscardOld
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	found := look()
	if len(found) != 1 || found[0].Level != report.Danger || found[0].What != "SESS_main_01" || !strings.Contains(found[0].Detail, "deletes old records") {
		t.Errorf("of a stream that forgets: %+v", found)
	}
}

func TestFullDiskIsReported(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]report.Level{50: "", 15: "", 14: report.Warning, 5: report.Warning, 4: report.Danger, 0: report.Danger} {
		f := &finder{}
		d := &Doctor{Node: Node{Disk: func() (int64, int64, bool) { return free, 100, true }}}
		if _, err := d.disk(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		got := report.Level("")
		if len(f.found) > 0 {
			got = f.found[0].Level
		}
		if got != want {
			t.Errorf("%d %% free is %q, want %q", free, got, want)
		}
	}
}

func TestFindingsPerCheckAreLimited(t *testing.T) {
	t.Parallel()
	f := &finder{check: "listing"}
	for range mostFindings + 7 {
		f.add(report.Warning, "a session", "is bad", "")
	}
	all := f.all()
	if len(all) != mostFindings+1 || !strings.Contains(all[mostFindings].Detail, "7 more") {
		t.Errorf("%d findings, the last %+v", len(all), all[len(all)-1])
	}
}

func TestWorstIgnoresRepairedFindings(t *testing.T) {
	t.Parallel()
	r := report.Examination{Findings: []report.Finding{{Level: report.Danger, Repaired: true}, {Level: report.Note}, {Level: report.Warning}}}
	if r.Worst() != report.Warning {
		t.Errorf("worst is %q", r.Worst())
	}
	if (&report.Examination{}).Worst() != "" {
		t.Error("nothing is bad")
	}
}
