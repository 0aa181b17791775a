package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// makeAll creates directories below root, and files for names of the form
// "path=content".
func makeAll(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path, content, isFile := strings.Cut(name, "=")
		path = filepath.Join(root, path)
		if isFile {
			makeAll(t, filepath.Dir(path), ".")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSettingsNameTheFaultyRow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"paths:\n  - [/a]\n":        "row 1: it names one directory",
		"paths:\n  - [/a, src/b]\n": `row 1: "src/b" begins neither at the root nor with ~`,
		"paths:\n  - [/a, /b/../c]": "row 1",
		"path:\n  - [/a, /b]\n":     "field path not found",
		"paths: {/a: /b}\n":         "cannot unmarshal",
		"\x00":                      "sessctl.yaml",
	} {
		home := t.TempDir()
		makeAll(t, home, "sesslog/sessctl.yaml="+text)
		a := testApp(map[string]string{"XDG_CONFIG_HOME": home})
		if _, err := a.settings(); err == nil || !strings.Contains(err.Error(), want) || describe(err, "").Exit != exitInvalid {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
