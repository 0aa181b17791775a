package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

func TestSettingsNameTheFaultyRow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"paths:\n  - [/a]\n":        "row 1: has only one directory",
		"paths:\n  - [/a, src/b]\n": `row 1: "src/b" is not an absolute path and does not begin with ~`,
		"paths:\n  - [/a, /b/../c]": "row 1",
		"path:\n  - [/a, /b]\n":     "field path not found",
		"paths: {/a: /b}\n":         "cannot unmarshal",
		"\x00":                      "sessctl.yaml",
	} {
		home := t.TempDir()
		if err := os.MkdirAll(filepath.Join(home, "sesslog"), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, filepath.Join(home, "sesslog", "sessctl.yaml"), []byte(text))
		a := testApp(map[string]string{"XDG_CONFIG_HOME": home})
		if _, err := a.settings(); err == nil || !strings.Contains(err.Error(), want) || Describe(err, "").Exit != ExitInvalid {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
