package blobstore_test

import (
	"os/exec"
	"strings"
	"testing"
)

// blobstore is a leaf package: it imports no other package of the module.
func TestImportsNoOtherPackageOfModule(t *testing.T) {
	t.Parallel()
	const module = "github.com/sesslog/sesslog/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(pkg, module) && !strings.HasPrefix(pkg, module+"blobstore") {
			t.Errorf("blobstore imports %s", pkg)
		}
	}
}
