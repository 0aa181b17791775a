package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream/embedded"
)

func TestErrorNamesBadSetting(t *testing.T) {
	t.Parallel()
	two := []string{"a:6222", "nats://b:6222"}
	member := func(c embedded.Cluster) embedded.Config { return embedded.Config{Name: "n0", Cluster: &c} }
	tests := []struct {
		name string
		cfg  embedded.Config
		want string
	}{
		{"open to all", embedded.Config{Listen: "0.0.0.0:4222"}, "Listen: 0.0.0.0:4222 can be reached from other hosts"},
		{"open to all by no host", embedded.Config{Listen: ":4222"}, "Listen: :4222 can be reached from other hosts"},
		{"no port", embedded.Config{Listen: "127.0.0.1"}, `Listen: "127.0.0.1" is not host:port`},
		{"port too high", embedded.Config{Listen: "127.0.0.1:65536"}, "has no port from 0 to 65535"},
		{"useless token", embedded.Config{Token: "x"}, "Token: is set, but Listen is empty"},
		{"name", embedded.Config{Name: "a b"}, `Name: "a b" is not`},
		{"negative sync", embedded.Config{SyncEvery: -time.Second}, "SyncEvery: -1s"},
		{"too short a sync", embedded.Config{SyncEvery: 1}, "SyncEvery: 1ns"},
		{"store", embedded.Config{MaxStore: -1}, "MaxStore: -1 is negative"},
		{"memory", embedded.Config{MaxMemory: -1}, "MaxMemory: -1 is negative"},
		{"nameless member", embedded.Config{Cluster: &embedded.Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: two}}, "Name: \"\" is not"},
		{"nameless cluster", member(embedded.Cluster{Listen: "127.0.0.1:0", Routes: two}), "Cluster.Name: \"\""},
		{"deaf member", member(embedded.Cluster{Name: "c", Routes: two}), `Cluster.Listen: "" is not host:port`},
		{"open cluster", member(embedded.Cluster{Name: "c", Listen: "0.0.0.0:6222", Routes: two}), "set Cluster.Secret"},
		{"cluster of one", member(embedded.Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: two[:1]}), "Cluster.Routes: has 1 members"},
		{"same twice", member(embedded.Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: []string{"a:1", "nats://a:1"}}), "a:1 is listed twice"},
		{"route without host", member(embedded.Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: []string{":1", "b:1"}}), `":1" needs a host and a port`},
		{"route with password", member(embedded.Cluster{Name: "c", Listen: "127.0.0.1:0", Routes: []string{"u:p@a:1", "b:1"}}), "Cluster.Routes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := tt.cfg
			cfg.Logger = quiet
			cfg.Dir = filepath.Join(t.TempDir(), "new")
			s, err := embedded.Start(t.Context(), cfg)
			if err == nil {
				closed(t, s)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if _, err := os.Stat(cfg.Dir); !os.IsNotExist(err) {
				t.Error("the directory was touched")
			}
		})
	}
	_, err := embedded.Start(t.Context(), embedded.Config{MaxStore: -1, Logger: quiet})
	for _, part := range []string{"Dir: is empty", "MaxStore: -1"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not report %q", err, part)
		}
	}
}

func closed(t *testing.T, s *embedded.Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, path, []byte(text))
}
