package e2e_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	const token = "a-token-of-the-test"
	node := harness.StartNode(t, "SESS_TOKEN="+token)
	file := harness.NewFile(t, harness.Shape{Turns: 3})

	for _, wrong := range []string{"", "another-token", token + "x", strings.ToUpper(token)} {
		c := node.Client()
		c.Token = wrong
		_, err := c.List(harness.Timeout(t), catalog.Filter{})
		if e, ok := errors.AsType[*client.Error](err); !ok || e.Detail.Status != http.StatusUnauthorized {
			t.Errorf("a listing with token %q: %v", wrong, err)
		}
	}
	stranger := harness.NewHost(t, node)
	r := stranger.Sessctl(t, "import", file.Save(t, stranger.Dir))
	if r.Code == 0 || !strings.Contains(r.Err, "token") || !strings.Contains(r.Err, "SESS_TOKEN") {
		t.Errorf("sessctl without a token: %s", r)
	}
	t.Logf("told: %s", r.Err)
	if r, err := http.Get(node.URL + "/readyz"); err != nil || r.StatusCode != http.StatusOK { // for probes
		t.Errorf("readyz without a token: %v %v", r, err)
	}

	node.Token = token
	friend := harness.NewHost(t, node)
	friend.Do(t, "import", file.Save(t, friend.Dir))
	sameBytes(t, "export", harness.Export(t, node.Client(), file.ID), file.Bytes)
	if strings.Contains(node.Log(), token) {
		t.Error("the token is in the log")
	}
}

func TestBadConfigurationNamesEveryFault(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		yaml string
		args []string
		want []string
	}{
		{
			"UnknownKeys", "listen: 127.0.0.1:0\nlissten: x\nblobs:\n  stor: fs\n", nil,
			[]string{"lissten", "stor", "line 2", "line 4"},
		},
		{
			"WrongTypes", "log:\n  shards: many\nsnapshots:\n  idle: soon\nlimits:\n  body: big\n", nil,
			[]string{"many", "soon", "big", "line 2", "line 4", "line 6"},
		},
		{
			"UnknownVariables", "",
			[]string{"SESS_LISSTEN=x", "SESS_LOG_SHARDS=many", "SESS_BLOB_STORE=fs"},
			[]string{"SESS_LISSTEN", "SESS_LOG_SHARDS", "many", "SESS_BLOB_STORE"},
		},
		{
			"Values", "",
			[]string{
				"--listen", "nowhere", "--log-replicas", "2", "--log-shards", "100", "--logging-level", "loud", "--blobs-store", "tape",
				"--limits-body", "1KiB",
			},
			[]string{"listen:", "nowhere", "log.replicas:", "log.shards:", "logging.level:", "blobs.store:", "limits.body:", "sessnode config"},
		},
		{
			"OpenToAll", "",
			[]string{"--listen", "0.0.0.0:0"},
			[]string{"token:", "0.0.0.0:0"},
		},
		{
			"ClusterOnFiles", "",
			[]string{"--cluster-name", "c", "--cluster-listen", "127.0.0.1:1", "--cluster-routes", "127.0.0.1:1"},
			[]string{"cluster.routes:", "blobs.store:"},
		},
		{"UnknownFlag", "", []string{"--lissten", "x"}, []string{"lissten"}},
		{"BadFlags", "", []string{"--log-shards", "many"}, []string{"--log-shards", "many"}},
		{"NoSuchFile", "", []string{"--config", "missing.yaml"}, []string{"missing.yaml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := tt.args
			if tt.yaml != "" {
				file := filepath.Join(t.TempDir(), "sessnode.yaml")
				testkit.WriteFile(t, file, []byte(tt.yaml))
				args = append(args, "--config", file)
			}
			node := harness.NewNode(t, args...)
			r := node.Run(t)
			if r.Code == 0 || r.Out != "" {
				t.Errorf("the node starts: %s", r)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.Err, want) {
					t.Errorf("the output lacks %q: %s", want, r)
				}
			}
			if _, err := os.Stat(node.Data); err == nil {
				t.Error("the node created its directory")
			}
		})
	}
}

func TestPrintedConfigurationIsReadable(t *testing.T) {
	t.Parallel()
	printer := harness.NewNode(t, "--node", "n-1", "--log-name", "other", "--log-shards", "3", "--snapshots-idle", "1m30s",
		"--limits-line", "1MiB", "--logging-format", "json", "SESS_LOGGING_LEVEL=warn",
		"--blobs-s3-prefix", "a: b # c", "--cluster-routes", "")
	printed := printer.Run(t, "config")
	if printed.Code != 0 || printed.Err != "" {
		t.Fatalf("sessnode config: %s", printed)
	}
	file := filepath.Join(t.TempDir(), "sessnode.yaml")
	testkit.WriteFile(t, file, []byte(printed.Out))
	reader := harness.NewNode(t, "--config", file, "--data", printer.Data, "--listen", "127.0.0.1:0")
	again := reader.Run(t, "config", "--listen", listenOf(t, printed.Out))
	if again.Out != printed.Out {
		t.Errorf("the configuration changed when it was read back:\n%s\n%s", again, printed.Out)
	}
	reader.Start(t)
	s, err := reader.Client().Status(harness.Timeout(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.Node != "n-1" || s.Log != "other" || len(s.Shards) != 3 {
		t.Errorf("status of a node with that configuration: %+v", s)
	}

	// A cluster's lists and a secret.
	member := harness.NewNode(t, "--cluster-name", "c", "--cluster-listen", "127.0.0.1:7001", "--blobs-store", "s3",
		"--blobs-s3-endpoint", "https://127.0.0.1:1", "--blobs-s3-bucket", "b",
		"--cluster-routes", "127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003", "SESS_CLUSTER_SECRET=very-secret")
	printed = member.Run(t, "config")
	if printed.Code != 0 || strings.Contains(printed.Out, "very-secret") {
		t.Errorf("sessnode config shows a secret, or fails: %s", printed)
	}
	testkit.WriteFile(t, file, []byte(printed.Out))
	if again := harness.NewNode(t, "--config", file, "SESS_CLUSTER_SECRET=very-secret").Run(t, "config"); again.Code != 0 ||
		!strings.Contains(again.Out, "127.0.0.1:7003") {
		t.Errorf("the printed configuration of a cluster: %s", again)
	}
}

// listenOf returns the address in a printed configuration.
func listenOf(t *testing.T, printed string) string {
	t.Helper()
	for line := range strings.Lines(printed) {
		if addr, ok := strings.CutPrefix(line, "listen: "); ok {
			return strings.Trim(strings.TrimSpace(addr), `"'`)
		}
	}
	t.Fatalf("no listen: in\n%s", printed)
	return ""
}
