//go:build linux

package operations_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/operations/blocks"
	"github.com/sesslog/sesslog/test/s3server"
)

// versions are the ones before and after the upgrade of docs/CLUSTER.md.
var versions = []string{"v0.11.0", "v0.12.0"}

func TestMain(m *testing.M) {
	flag.Parse()
	testkit.MoreParallel()
	os.Exit(harness.Main(m))
}

// TestDocumentedWalkthrough runs docs/TEAM-SERVER.md, then docs/CLUSTER.md. It only
// fills in the first block of each, which the reader fills in. Hosts are loopback
// addresses, each with a home and a shell.
//
// The sessions that were imported into the first node, the one of the page and
// a larger one with images, are byte-identical in the upgraded cluster.
func TestDocumentedWalkthrough(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts five nodes, three of them twice")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	hosts := newHosts(t)
	file := harness.NewFile(t, harness.Shape{Turns: 20, Images: 4})
	for _, page := range []string{"TEAM-SERVER", "CLUSTER"} {
		for i, step := range steps(t, page) {
			for name := range strings.FieldsSeq(step.At) {
				switch h := hosts[name]; {
				case i == 0:
					hosts.fillIn(t, step)
				case h == nil:
					t.Fatalf("%s, line %d: unknown host %q", page, step.Line, name)
				default:
					look(t, hosts, h, step, h.types(t, step.Line, step.Text), file)
				}
			}
		}
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		says(t, hosts[name], "sessctl --url http://$ME:7433 status", "all is well", versions[1])
	}
	n1 := hosts["n1"]
	n1.types(t, 0, "sessctl verify --all\nsessctl export "+file.ID+" --out large.jsonl\nsessctl export hello-2026 --out end.jsonl\n")
	same(t, "the large session", n1.read("sesslog/large.jsonl"), string(file.Bytes))
	same(t, "the begin of the session of the page", n1.read("sesslog/end.jsonl")[:len(hosts["server"].read("sesslog/hello.jsonl"))],
		hosts["server"].read("sesslog/hello.jsonl"))
}

// look does what the document leaves to the reader after a step: to import a
// session, to read the output, and to compare.
func look(t *testing.T, hosts hostsByName, h *host, step blocks.Block, screen string, file *harness.File) {
	t.Helper()
	has := func(part string) bool { return strings.Contains(step.Text, part) }
	switch {
	case has("sessctl import"):
		testkit.WriteFile(t, h.path("sesslog/large-file.jsonl"), file.Bytes)
		h.types(t, 0, "sessctl import large-file.jsonl\n")
	case has("sessnode --version"):
		says(t, h, "sessnode --version", versions[0])
	case has("sessctl tree") && !strings.Contains(screen, "Still there?"):
		t.Errorf("the tree lacks what was appended without n3:\n%s", screen)
	case has("sessctl audit") && !strings.Contains(screen, "scope admin"):
		t.Errorf("a token of scope write is not refused for its scope:\n%s", screen)
	case has("drill.jsonl"):
		same(t, "the drill", h.read("sesslog/drill.jsonl"), hosts["server"].read("sesslog/back.jsonl"))
	}
}

// says runs a command and checks that it prints the parts.
func says(t *testing.T, h *host, command string, parts ...string) {
	t.Helper()
	screen := h.types(t, 0, command+"\n")
	for _, part := range parts {
		if !strings.Contains(screen, part) {
			t.Errorf("on %s, %s does not print %q:\n%s", h.name, command, part, screen)
		}
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s has %d bytes, want %d, or they differ", what, len(got), len(want))
	}
}

// steps returns the blocks of a page that are typed, in order. The first one has the
// settings.
func steps(t *testing.T, page string) []blocks.Block {
	t.Helper()
	all, err := blocks.Read("../../docs/" + page + ".md")
	if err != nil {
		t.Fatal(err)
	}
	typed := slices.DeleteFunc(all, func(b blocks.Block) bool { return b.At == "" })
	if len(typed) < 6 || typed[0].At != "settings" {
		t.Fatalf("%s has %d blocks", page, len(typed))
	}
	return typed
}

// hostsByName are the hosts of the pages.
type hostsByName map[string]*host

// newHosts starts the hosts, with the archives in their homes and an object store.
func newHosts(t *testing.T) hostsByName {
	t.Helper()
	store := s3server.Start(t)
	for _, bucket := range []string{"sesslog", "sesslog-backup"} {
		if err := store.MakeBucket(t.Context(), bucket); err != nil {
			t.Fatal(err)
		}
	}
	var archives []string
	for _, v := range versions {
		archives = append(archives, archive(t, v))
	}
	network := freeNetwork(t)
	hosts := hostsByName{}
	for i, name := range []string{"n1", "n2", "n3", "server", "spare"} {
		h := newHost(t, name, "AWS_CA_BUNDLE="+store.CAFile, "SESS_BLOBS_S3_CA="+store.CAFile)
		h.settings = map[string]string{
			"NODE": name, "ME": fmt.Sprint(network, i+1),
			"N1": network + "1", "N2": network + "2", "N3": network + "3",
			"SESS_TOKEN": "a-token-that-may-do-everything", "SESS_CLUSTER_SECRET": "a-secret-between-nodes",
			"AWS_ENDPOINT_URL": store.Endpoint, "AWS_REGION": store.Region,
			"AWS_ACCESS_KEY_ID": store.AccessKey, "AWS_SECRET_ACCESS_KEY": store.SecretKey,
		}
		for _, path := range archives {
			if err := os.Symlink(path, h.path(filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
		hosts[name] = h
	}
	return hosts
}

var variable = regexp.MustCompile(`\b([A-Z][A-Z0-9_]+)=`)

// fillIn sets the variables of a page's first block on every host.
func (hosts hostsByName) fillIn(t *testing.T, first blocks.Block) {
	t.Helper()
	for _, h := range hosts {
		var block strings.Builder
		for _, m := range variable.FindAllStringSubmatch(first.Text, -1) {
			value := h.settings[m[1]]
			if value == "" {
				t.Fatalf("no value for %s", m[1])
			}
			fmt.Fprintf(&block, "export %s=%s\n", m[1], value)
		}
		h.types(t, first.Line, block.String())
	}
}

// freeNetwork returns the prefix of unused loopback addresses. All of
// 127.0.0.0/8 is loopback, so the hosts can use the ports of the document.
func freeNetwork(t *testing.T) string {
	t.Helper()
	for range 100 {
		network := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(250), 1+rand.IntN(250))
		if l, err := net.Listen("tcp", network+"1:7433"); err == nil {
			_ = l.Close()
			return network
		}
	}
	t.Fatal("no loopback address is free")
	return ""
}
