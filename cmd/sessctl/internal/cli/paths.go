package cli

import (
	"cmp"
	"path/filepath"
)

// configDir is where this program's settings are, of whoever runs it.
func (a *App) configDir() string {
	if dir := a.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sesslog")
	}
	return filepath.Join(cmp.Or(a.Env("HOME"), a.Env("USERPROFILE"), "."), ".config", "sesslog")
}
