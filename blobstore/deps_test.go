package blobstore_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The package is a leaf: it can be read, tested and trusted alone.
func TestNothingElseOfOursIsImported(t *testing.T) {
	t.Parallel()
	const ours = "github.com/sesslog/sesslog/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(pkg, ours) && !strings.HasPrefix(pkg, ours+"blobstore") {
			t.Errorf("blobstore imports %s", pkg)
		}
	}
}
