package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func manCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Writes a manual page for sessctl and for each verb to DIR, such as
/usr/local/share/man/man1. Existing pages are replaced.

With -o json: a list of the files.`,
		Example: `sessctl man /usr/local/share/man/man1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := writeManual(cmd.Root(), args[0])
			if err != nil {
				return err
			}
			return a.Print(names, func() error { return a.Printf("%s in %s", cli.Count(len(names), "page", "pages"), args[0]) })
		},
	}
}

// writeManual writes a page for root and for each verb to dir, and returns their
// names.
func writeManual(root *cobra.Command, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	built := buildTime()
	root.DisableAutoGenTag = true
	err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "sesslog", Manual: "sesslog", Date: &built}, dir)
	if err != nil {
		return nil, fmt.Errorf("write manual pages to %s: %w", dir, err)
	}
	return manualPages(root, dir), nil
}

func manualPages(cmd *cobra.Command, dir string) []string {
	names := []string{filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")}
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			names = append(names, manualPages(verb, dir)...)
		}
	}
	return names
}

// buildTime is the time of the commit that this program was built from, so that
// the same program always writes the same pages.
func buildTime() time.Time {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil && s.Key == "vcs.time" {
				return t
			}
		}
	}
	return time.Unix(0, 0).UTC()
}
