package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func versionCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of sessctl",
		Long: `Shows this program's version; status shows the node's.

With -o json: one object with version, go, platform, and commit if it is known.`,
		Example: "sessctl version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := thisVersion()
			return a.Print(v, func() error {
				return a.Printf("sessctl %s", cli.Join(", ", v.Version, v.Commit, v.Go, v.Platform))
			})
		},
	}
}

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if build.Main.Version != "" {
		v.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
