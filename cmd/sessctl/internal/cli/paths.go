package cli

import (
	"cmp"
	"path/filepath"
)

// configDir returns the configuration directory of the user.
func (a *App) configDir() string {
	if dir := a.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sesslog")
	}
	return filepath.Join(cmp.Or(a.Env("HOME"), a.Env("USERPROFILE"), "."), ".config", "sesslog")
}
