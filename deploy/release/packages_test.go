package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// installed is a directory into which dpkg installed the package, as into a chroot.
func installed(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("skipped: dpkg is not installed")
	}
	dir := releaseOf(t)
	root := t.TempDir()
	for _, d := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "dpkg", "--root="+root, "--force-not-root", "--force-architecture", "--force-bad-path", "--log=/dev/null",
		"-i", filepath.Join(dir, "sesslog_1.2.3_amd64.deb"))
	return root
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestDebianPackageInstallsProgramsAndService(t *testing.T) {
	root := installed(t)
	for _, p := range programs {
		if out := run(t, filepath.Join(root, "usr/bin", p), "--help"); !strings.Contains(out, p) {
			t.Errorf("%s --help: %s", p, out)
		}
	}
	if out := run(t, filepath.Join(root, "usr/bin/sessctl"), "version"); !strings.Contains(out, "1.2.3") {
		t.Errorf("sessctl version: %s", out)
	}
	run(t, filepath.Join(root, "usr/bin/sessnode"), "config", "--config", filepath.Join(root, "etc/sesslog/sessnode.yaml"))
	if !strings.Contains(run(t, "dpkg-query", "--admindir="+filepath.Join(root, "var/lib/dpkg"), "-s", "sesslog"), "/etc/sesslog/sessnode.yaml") {
		t.Error("an upgrade would overwrite the settings: they are no conffile")
	}
}

func TestUnitOfPackageIsValid(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("skipped: systemd-analyze is not installed")
	}
	root := installed(t)
	unit := filepath.Join(root, "usr/lib/systemd/system/sessnode.service")
	b := read(t, unit)
	// systemd-analyze looks for the program on this machine.
	b = bytes.Replace(b, []byte("ExecStart=sessnode"), []byte("ExecStart="+filepath.Join(root, "usr/bin/sessnode")), 1)
	if err := os.WriteFile(unit, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := run(t, "systemd-analyze", "verify", "--man=no", unit); strings.Contains(out, unit) {
		t.Error(out)
	}
}

func TestFormulaNamesArchivesAndTheirSums(t *testing.T) {
	dir := releaseOf(t)
	known := sums(t, dir)
	text := string(read(t, dir, "sesslog.rb"))
	pairs := regexp.MustCompile(`/releases/download/v1\.2\.3/(\S+)"\n\s+sha256 "(\w+)"`).FindAllStringSubmatch(text, -1)
	if len(pairs) == 0 {
		t.Fatalf("no archive in:\n%s", text)
	}
	for _, p := range pairs {
		if known[p[1]] != p[2] {
			t.Errorf("%s: the sum is %s, and not %s", p[1], p[2], known[p[1]])
		}
	}
	if _, err := exec.LookPath("ruby"); err != nil {
		t.Log("skipped: no ruby to parse the formula with")
		return
	}
	run(t, "ruby", "-c", filepath.Join(dir, "sesslog.rb"))
}
