package write

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

func TestDirectoryWithoutSessionsDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full, hollow := filepath.Join(dir, "full"), filepath.Join(dir, "hollow")
	for _, d := range []string{full, hollow} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testkit.WriteFile(t, filepath.Join(full, "a.jsonl"), []byte("{}\n"))
	files, err := sessionFiles([]string{hollow, full})
	if err != nil || len(files) != 2 || files[0].err == nil || files[1].err != nil {
		t.Errorf("%+v, %v", files, err)
	}
	if _, err := sessionFiles([]string{hollow}); err == nil {
		t.Error("a directory without sessions alone is no error")
	}
}

func TestImportOfAProjectFindsItsNovaSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, hidden := range []string{".nova", ".git"} {
		if err := os.MkdirAll(filepath.Join(dir, hidden, "sessions"), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, filepath.Join(dir, hidden, "sessions", "a.json"), []byte("{}"))
	}
	files, err := sessionFiles([]string{dir})
	if want := filepath.Join(dir, ".nova", "sessions", "a.json"); err != nil || len(files) != 1 || files[0].name != want {
		t.Errorf("%+v, %v; want %s", files, err, want)
	}
}
