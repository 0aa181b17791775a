package plane_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// version is that of k8s.io/kubernetes in go.mod. The programs would otherwise
// say that they are v0.0.0, and refuse features by that.
const version = "v1.36.3"

// programs are what a control plane is made of. kwok is the nodes.
var programs = []string{
	"./etcd",
	"k8s.io/kubernetes/cmd/kube-apiserver",
	"k8s.io/kubernetes/cmd/kube-controller-manager",
	"k8s.io/kubernetes/cmd/kube-scheduler",
	"sigs.k8s.io/kwok/cmd/kwok",
}

// binaries returns the directory that has the programs, which are built where
// they are not there yet.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	// A build that is killed must not leave half of it under the true name.
	half, err := os.MkdirTemp(filepath.Dir(dir), "building-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half)
	for _, program := range programs {
		if err := build(half, program); err != nil {
			return "", err
		}
	}
	if err := os.Rename(half, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
})

// cacheDir is named after all that the programs are made of.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "etcd/main.go"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		sum.Write(b)
	}
	fmt.Fprint(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH, programs)
	return filepath.Join(cache, "sesslog-test", "k8s-"+version+"-"+hex.EncodeToString(sum.Sum(nil))[:12]), nil
}

func build(dir, program string) error {
	fmt.Println("building", program)
	flags := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += " -X " + pkg + ".gitVersion=" + version
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", dir+string(filepath.Separator), program)
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return nil
}

// The version is said twice, and the second one is what the programs say.
func TestProgramsReportTheirVersion(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out); got != version+"\n" {
		t.Errorf("go.mod has Kubernetes %s, the tests %s", got, version)
	}
}
