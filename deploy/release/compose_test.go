package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

// TestComposeFilesStartNodes parses deploy/compose, and has sessnode check the
// settings of every node in it.
func TestComposeFilesStartNodes(t *testing.T) {
	files, err := filepath.Glob("../compose/*.yaml")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	sessnode := filepath.Join(installed(t), "usr/bin/sessnode")
	for _, file := range files {
		options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv([]string{
			"SESS_TOKEN=a-token-that-may-do-everything", "SESS_CLUSTER_SECRET=a-secret-between-nodes",
			"AWS_SECRET_ACCESS_KEY=a-secret-of-the-store",
		}))
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(t.Context())
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		nodes := 0
		for name, service := range project.Services {
			if !strings.HasPrefix(service.Image, "sesslog:") {
				continue
			}
			nodes++
			cmd := exec.CommandContext(t.Context(), sessnode, "config")
			cmd.Env = os.Environ()
			for key, value := range maps.All(service.Environment) {
				cmd.Env = append(cmd.Env, key+"="+*value)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v\n%s", file, name, err, out)
			}
		}
		if nodes == 0 {
			t.Errorf("%s starts no node", file)
		}
	}
}

func TestComposeFilesRequireTheirSecrets(t *testing.T) {
	files, _ := filepath.Glob("../compose/*.yaml")
	for _, file := range files {
		options, err := cli.NewProjectOptions([]string{file})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := options.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), "openssl rand") {
			t.Errorf("%s without SESS_TOKEN: %v", file, err)
		}
	}
}
