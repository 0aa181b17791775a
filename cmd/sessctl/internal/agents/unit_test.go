package agents

import (
	"encoding/xml"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// TestLaunchdUnitReadsSecrets runs the command of a property list in a home with a file
// of secrets, and in one without.
func TestLaunchdUnitReadsSecrets(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	u := unit{name: "node", words: []string{"/bin/sh", "-c", `echo "$SESS_TOKEN|$1"`, "sh", `a "b" $c & <d>`}}
	words := programArguments(t, u.launchd())
	home := t.TempDir()
	run := func() string {
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Env = []string{"HOME=" + home}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
		return string(out)
	}
	if got, want := run(), "|a \"b\" $c & <d>\n"; got != want {
		t.Errorf("without a file of secrets: %q, want %q", got, want)
	}
	dir := filepath.Join(home, ".config", "sesslog")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, filepath.Join(dir, "node.env"), []byte("# of the node\nSESS_TOKEN=hush\n"))
	if got, want := run(), "hush|a \"b\" $c & <d>\n"; got != want {
		t.Errorf("with a file of secrets: %q, want %q", got, want)
	}
}

// programArguments returns the strings of the first array of a property list.
func programArguments(t *testing.T, list string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(list))
	for {
		token, err := d.Token()
		if err == io.EOF {
			t.Fatalf("no array in %s", list)
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "array" {
			var array struct {
				Strings []string `xml:"string"`
			}
			if err := d.DecodeElement(&array, &start); err != nil {
				t.Fatal(err)
			}
			return array.Strings
		}
	}
}
