//go:build linux

package operations_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/operations/blocks"
	"github.com/sesslog/sesslog/test/s3server"
)

const document = "../../docs/OPERATIONS.md"

// versions are the ones before and after the upgrade of the walkthrough.
var versions = []string{"v0.10.0", "v0.11.0"}

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// TestDocumentedWalkthrough runs the walkthrough of docs/OPERATIONS.md. It only
// fills in the first block, which the reader fills in. Hosts are loopback
// addresses, each with a home and a shell.
//
// The sessions that were imported into the first node, the one of the document and
// a larger one with images, are byte-identical in the upgraded cluster.
func TestDocumentedWalkthrough(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six nodes, three of them twice")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	walk := walkOf(t)
	hosts := startHosts(t, settings(walk))
	file := harness.NewFile(t, harness.Shape{Turns: 20, Images: 4})
	for _, step := range walk[1:] {
		for name := range strings.FieldsSeq(step.At) {
			h := hosts[name]
			if h == nil {
				t.Fatalf("line %d: unknown host %q", step.Line, name)
			}
			look(t, hosts, h, step, h.types(t, step.Line, step.Text), file)
		}
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		says(t, hosts[name], "sessctl --url http://$ME:7433 status", "all is well", versions[1])
	}
	n1 := hosts["n1"]
	n1.types(t, 0, "sessctl export "+file.ID+" --out large.jsonl\n")
	same(t, "the large session", n1.read("sesslog/large.jsonl"), string(file.Bytes))
}

// look does what the document leaves to the reader after a step: to import a
// session, to read the output, and to compare.
func look(t *testing.T, hosts map[string]*host, h *host, step blocks.Block, screen string, file *harness.File) {
	t.Helper()
	has := func(part string) bool { return strings.Contains(step.Text, part) }
	switch {
	case has("sessctl import"):
		if err := os.WriteFile(h.path("sesslog/large-file.jsonl"), file.Bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		h.types(t, 0, "sessctl import large-file.jsonl\n")
	case has("sessnode --version"):
		says(t, h, "sessnode --version", versions[0])
	case has("sessctl tree") && !strings.Contains(screen, "Still there?"):
		t.Errorf("the tree lacks what was appended without n3:\n%s", screen)
	case has("sessctl audit") && !strings.Contains(screen, "scope admin"):
		t.Errorf("a token of scope write is not refused for its scope:\n%s", screen)
	case has("drill.jsonl"):
		hosts["n1"].types(t, 0, "sessctl export hello-2026 --out now.jsonl\n")
		same(t, "the drill", h.read("sesslog/drill.jsonl"), hosts["n1"].read("sesslog/now.jsonl"))
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

// walkOf returns the blocks of the walkthrough, in order.
func walkOf(t *testing.T) []blocks.Block {
	t.Helper()
	all, err := blocks.Read(document)
	if err != nil {
		t.Fatal(err)
	}
	var walk []blocks.Block
	for _, b := range all {
		if b.At != "" {
			walk = append(walk, b)
		}
	}
	if len(walk) < 15 || walk[0].At != "settings" {
		t.Fatalf("the walkthrough of %s has %d blocks", document, len(walk))
	}
	return walk
}

// settings returns the names of the variables in the first block.
func settings(walk []blocks.Block) (names []string) {
	for _, m := range regexp.MustCompile(`\b([A-Z][A-Z0-9_]+)=`).FindAllStringSubmatch(walk[0].Text, -1) {
		names = append(names, m[1])
	}
	return names
}

// startHosts starts the hosts and runs the first block, filled in, on each.
func startHosts(t *testing.T, names []string) map[string]*host {
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
	values := map[string]string{
		"N1": network + "1", "N2": network + "2", "N3": network + "3",
		"SESS_TOKEN": "a-token-that-may-do-everything", "SESS_CLUSTER_SECRET": "a-secret-between-nodes",
		"AWS_ENDPOINT_URL": store.Endpoint, "AWS_REGION": store.Region,
		"AWS_ACCESS_KEY_ID": store.AccessKey, "AWS_SECRET_ACCESS_KEY": store.SecretKey,
	}
	hosts := map[string]*host{}
	for i, name := range []string{"n1", "n2", "n3", "spare"} {
		h := newHost(t, name, "AWS_CA_BUNDLE="+store.CAFile, "SESS_BLOBS_S3_CA="+store.CAFile)
		values["NODE"], values["ME"] = name, fmt.Sprint(network, i+1)
		var block strings.Builder
		for _, name := range names {
			if values[name] == "" {
				t.Fatalf("no value for %s", name)
			}
			fmt.Fprintf(&block, "export %s=%s\n", name, values[name])
		}
		h.types(t, 0, block.String())
		for _, path := range archives {
			if err := os.Symlink(path, h.path(filepath.Base(path))); err != nil {
				t.Fatal(err)
			}
		}
		hosts[name] = h
	}
	return hosts
}

// freeNetwork returns the prefix of four unused loopback addresses. All of
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
