package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/core"
)

// userSettings are the content of sessctl.yaml, which all hosts of a user share.
type userSettings struct {
	// Paths are rows of paths of one directory on different hosts.
	Paths [][]string `yaml:"paths"`
	// Secrets is what becomes of secrets in lines that leave this host: off, report
	// or mask.
	Secrets string `yaml:"secrets"`
}

// settingsFile returns the path of the settings, or "" without a home.
func (a *App) settingsFile() string {
	dir := a.Env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // to be ignored, the XDG specification says
		home := a.Env("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "sesslog", "sessctl.yaml")
}

// settings reads the settings. Without a file they are empty.
func (a *App) settings() (userSettings, error) {
	var s userSettings
	name := a.settingsFile()
	if name == "" {
		return s, nil
	}
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&s); err != nil && err != io.EOF {
		return s, fmt.Errorf("%s: %v: %w", name, err, core.ErrInvalid)
	}
	if _, err := secrets.ParseMode(s.Secrets); err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	for i, row := range s.Paths {
		if err := agent.CheckPathRow(row); err != nil {
			return s, fmt.Errorf("%s: paths, row %d: %v: %w", name, i+1, err, core.ErrInvalid)
		}
	}
	return s, nil
}
