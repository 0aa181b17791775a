package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sessnode:", err)
		os.Exit(1)
	}
}

// run is the program; only main uses the process around it.
func run(ctx context.Context, args, env []string, out, errOut io.Writer) error {
	var file string
	host, _ := os.Hostname()
	cfg := config.Default(defaultData(), cmp.Or(host, "sessnode"))
	root := &cobra.Command{
		Use:   "sessnode",
		Short: "Run a node of a replicated log of agents' sessions",
		Example: `  sessnode
  sessnode --listen 100.64.0.1:7433 --config node.yaml
  sessnode config`,
		Args:          cobra.NoArgs,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return load(&cfg, file, env, cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := logger(cfg.Logging, errOut)
			limitMemory(log)
			return serve(cmd.Context(), cfg, out, log)
		},
	}
	root.PersistentFlags().StringVar(&file, "config", "", "YAML file with settings (SESS_CONFIG)")
	flags := config.Default("", "")
	for _, f := range config.Fields(&flags) {
		if f.IsBool() {
			root.PersistentFlags().Bool(f.Flag(), f.String() == "true", f.Doc)
			continue
		}
		root.PersistentFlags().String(f.Flag(), "", f.Doc)
	}
	root.AddCommand(&cobra.Command{
		Use:   "config",
		Short: "Print the effective configuration and what it means",
		Example: `  sessnode config
  sessnode config --config node.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := out.Write(config.Write(cfg))
			return err
		},
	})
	root.AddCommand(permissionsCmd(&cfg, out), benchCmd(out))
	root.SetUsageTemplate(usageTemplate)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	return root.ExecuteContext(ctx)
}

// usageTemplate is what follows the first sentence of help. The settings of a node are shown
// for the node itself only.
const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasParent}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}

More flags: {{.Parent.CommandPath}} --help
{{else}}

Settings, also in the file of --config, or as SESS_... in the environment:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}
{{end}}`

// load fills cfg from the file, the environment and the flags, and checks it.
func load(cfg *config.Config, file string, env []string, cmd *cobra.Command) error {
	if file == "" {
		file = lookup(env, "SESS_CONFIG")
	}
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("configuration: %w", err)
		}
		if err := config.Read(cfg, b); err != nil {
			return fmt.Errorf("configuration %s: %w", file, err)
		}
	}
	// The same environment may have settings of sessctl and of the tests.
	if err := config.ReadEnv(cfg, env, "SESS_CONFIG", "SESS_URL", "SESS_CONTEXT", "SESS_WRITER", "SESS_BY", "SESS_CA", "SESS_CLIENT_CERT", "SESS_CLIENT_KEY", "SESS_CORPUS", "SESS_SEEDS"); err != nil {
		return fmt.Errorf("environment: %w", err)
	}
	if err := setFlags(cfg, cmd); err != nil {
		return err
	}
	config.Settle(cfg)
	if err := config.Check(*cfg); err != nil {
		return fmt.Errorf("configuration (print it with: sessnode config):\n%w", err)
	}
	return nil
}

// setFlags applies the flags of a command line.
func setFlags(cfg *config.Config, cmd *cobra.Command) error {
	for _, f := range config.Fields(cfg) {
		flag := cmd.Flags().Lookup(f.Flag())
		if flag == nil || !flag.Changed {
			continue
		}
		if err := f.Set(flag.Value.String()); err != nil {
			return fmt.Errorf("--%s: %w", f.Flag(), err)
		}
	}
	return nil
}

// defaultData returns the default data directory.
func defaultData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sesslog")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "sesslog")
	}
	return "sesslog-data"
}

func lookup(env []string, name string) string {
	for _, kv := range env {
		if len(kv) > len(name) && kv[:len(name)] == name && kv[len(name)] == '=' {
			return kv[len(name)+1:]
		}
	}
	return ""
}

func logger(cfg config.Logging, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level)) // config.Check has validated it
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// version returns the module version that the build recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
