package s3server_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/s3server"
)

func TestVersionMatchesToolsModule(t *testing.T) {
	t.Parallel()
	mod := testkit.ReadFile(t, "tools/go.mod")
	if want := "github.com/versity/versitygw " + s3server.Version + " "; !strings.Contains(string(mod), want) {
		t.Errorf("tools/go.mod does not require %q", want)
	}
}

func TestServerKeepsBucketsAcrossRestart(t *testing.T) {
	t.Parallel()
	s := s3server.Start(t)
	if err := s.MakeBucket(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if err := s.MakeBucket(t.Context(), "other"); err == nil {
		t.Error("a stopped server made a bucket")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.MakeBucket(t.Context(), "kept"); err == nil {
		t.Error("the bucket is gone after a restart")
	}
}

func TestServersAreIndependent(t *testing.T) {
	t.Parallel()
	a, b := s3server.Start(t), s3server.Start(t)
	for _, s := range []*s3server.Server{a, b} {
		if err := s.MakeBucket(t.Context(), "same-name"); err != nil {
			t.Error(err)
		}
	}
}
