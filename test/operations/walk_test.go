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

// versions are those of the walk: before the upgrade and after.
var versions = []string{"v0.10.0", "v0.11.0"}

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// TestTheWholeWayAsTheDocumentHasIt types the walk of docs/OPERATIONS.md. Only
// its first block, which is the reader's to fill in, is filled in; hosts are
// addresses of this one's loopback network, each with a home and a shell.
//
// What was imported into the first node is at the end in the upgraded cluster,
// byte for byte: the document's session, and a larger one with images.
func TestTheWholeWayAsTheDocumentHasIt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts six nodes, and three of them twice")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash here")
	}
	walk := walkOf(t)
	hosts := startHosts(t, settings(walk))
	file := harness.NewFile(t, harness.Shape{Turns: 20, Images: 4})
	for _, step := range walk[1:] {
		for name := range strings.FieldsSeq(step.At) {
			h := hosts[name]
			if h == nil {
				t.Fatalf("line %d: there is no host %q", step.Line, name)
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

// look does what the document leaves to its reader after a step: to bring in a
// session of their own, to see what is on the screen, and to compare.
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

// says types a command and looks for what it should print.
func says(t *testing.T, h *host, command string, parts ...string) {
	t.Helper()
	screen := h.types(t, 0, command+"\n")
	for _, part := range parts {
		if !strings.Contains(screen, part) {
			t.Errorf("on %s, %s does not say %q:\n%s", h.name, command, part, screen)
		}
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s has %d bytes where there should be %d, or others", what, len(got), len(want))
	}
}

// walkOf are the blocks of the walk, in order.
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
		t.Fatalf("%s has a walk of %d blocks", document, len(walk))
	}
	return walk
}

// settings are the names that the reader gives a value to in the first block.
func settings(walk []blocks.Block) (names []string) {
	for _, m := range regexp.MustCompile(`\b([A-Z][A-Z0-9_]+)=`).FindAllStringSubmatch(walk[0].Text, -1) {
		names = append(names, m[1])
	}
	return names
}

// startHosts makes the hosts of the walk and fills in the first block on each.
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
				t.Fatalf("there is no value for %s", name)
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

// freeNetwork is the beginning of four loopback addresses that nobody uses. All
// of 127.0.0.0/8 is loopback, so that there are enough of them for the ports to
// be the document's own.
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
