package main

import (
	"cmp"
	"path/filepath"
)

// configDir is where this program's settings are, of whoever runs it.
func (a *app) configDir() string {
	if dir := a.env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sesslog")
	}
	return filepath.Join(cmp.Or(a.env("HOME"), a.env("USERPROFILE"), "."), ".config", "sesslog")
}
