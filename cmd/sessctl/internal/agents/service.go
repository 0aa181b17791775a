package agents

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/internal/atomicfile"
)

func serviceCmd(a app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Run watch or a node as a service of the user",
		Long: `Installs sessctl watch or sessnode as a service of this user, by systemd or by
launchd, without root.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(serviceInstallCmd(a), serviceStatusCmd(a), serviceRemoveCmd(a))
	return cmd
}

func serviceInstallCmd(a app) *cobra.Command {
	var f serviceFlags
	cmd := &cobra.Command{
		Use:   "install watch|node [-- ARG...]",
		Short: "Install a service and start it",
		Long: `Writes the unit of the service, and starts it now and at each login. ARGs are those
of sessctl watch or sessnode; paths are made absolute. The service keeps
SESS_URL and the variables that say where agents keep their sessions.

Do not put secrets into a unit: other users can read it. Put SESS_TOKEN=... into
~/.config/sesslog/watch.env or node.env; watch also uses the current context
(sessctl contexts). A service ends when the user logs out; with systemd,
loginctl enable-linger keeps it running.`,
		Example: `sessctl service install watch
sessctl service install node -- --listen 100.64.0.1:7433
sessctl service install watch --print`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.installService(cmd, f, args[0], args[1:]) },
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.print, "print", false, "print the unit, and do nothing else")
	return cmd
}

func serviceStatusCmd(a app) *cobra.Command {
	var f serviceFlags
	cmd := &cobra.Command{
		Use:     "status watch|node",
		Short:   "Show the state of a service",
		Long:    `Shows the service's state as the service manager reports it.`,
		Example: "sessctl service status watch",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.manage(f, args[0], func(m manager, u unit) error { return a.call(cmd, m.status(u)) })
		},
	}
	f.add(cmd)
	return cmd
}

func serviceRemoveCmd(a app) *cobra.Command {
	var f serviceFlags
	cmd := &cobra.Command{
		Use:     "remove watch|node",
		Short:   "Stop a service and remove its unit",
		Long:    `Stops the service and removes its unit. Data and settings stay.`,
		Example: "sessctl service remove watch",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.manage(f, args[0], func(m manager, u unit) error {
				path := filepath.Join(a.Env("HOME"), m.path(u))
				if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
					return fmt.Errorf("there is no service %s: %s does not exist", u.name, path)
				}
				if err := a.call(cmd, m.stop(u)); err != nil {
					return err
				}
				return os.Remove(path)
			})
		},
	}
	f.add(cmd)
	return cmd
}

type serviceFlags struct {
	manager string
	print   bool
}

func (f *serviceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.manager, "manager", "", "the `MANAGER` of services: systemd or launchd (default that of this system)")
}

// A manager knows the commands of a service manager, and where units are, below the
// user's home.
type manager struct {
	path                func(unit) string
	text                func(unit) string
	start, status, stop func(unit) [][]string
}

var managers = map[string]manager{
	"systemd": {
		path: func(u unit) string { return ".config/systemd/user/sesslog-" + u.name + ".service" },
		text: unit.systemd,
		start: func(u unit) [][]string {
			return [][]string{{"systemctl", "--user", "daemon-reload"}, {"systemctl", "--user", "enable", "sesslog-" + u.name}, {"systemctl", "--user", "restart", "sesslog-" + u.name}}
		},
		status: func(u unit) [][]string { return [][]string{{"systemctl", "--user", "status", "sesslog-" + u.name}} },
		stop: func(u unit) [][]string {
			return [][]string{{"systemctl", "--user", "disable", "--now", "sesslog-" + u.name}}
		},
	},
	"launchd": {
		path: func(u unit) string { return "Library/LaunchAgents/" + u.label() + ".plist" },
		text: unit.launchd,
		start: func(u unit) [][]string {
			return [][]string{{"launchctl", "load", "-w", "Library/LaunchAgents/" + u.label() + ".plist"}}
		},
		status: func(u unit) [][]string { return [][]string{{"launchctl", "list", u.label()}} },
		stop: func(u unit) [][]string {
			return [][]string{{"launchctl", "unload", "-w", "Library/LaunchAgents/" + u.label() + ".plist"}}
		},
	},
}

// manage calls do with the manager of the flags and the service called name.
func (a app) manage(f serviceFlags, name string, do func(manager, unit) error) error {
	usual := "systemd"
	if runtime.GOOS == "darwin" {
		usual = "launchd"
	}
	m, ok := managers[cmp.Or(f.manager, usual)]
	switch {
	case !ok:
		return cli.Usagef("--manager %.40q is not one of systemd, launchd", f.manager)
	case name != "watch" && name != "node":
		return cli.Usagef("%.40q is not a service: use watch or node", name)
	case a.Env("HOME") == "":
		return errors.New("the variable HOME is not set")
	}
	return do(m, unit{name: name})
}

// installService writes the unit of a service and starts it.
func (a app) installService(cmd *cobra.Command, f serviceFlags, name string, args []string) error {
	return a.manage(f, name, func(m manager, u unit) error {
		u, err := a.unit(u.name, args)
		if err != nil {
			return err
		}
		if f.print {
			return a.Printf("%s", m.text(u))
		}
		path := filepath.Join(a.Env("HOME"), m.path(u))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(path, []byte(m.text(u)+"\n")); err != nil {
			return err
		}
		if err := a.call(cmd, m.start(u)); err != nil {
			return err
		}
		return a.Printf("%s runs, and starts at each login; see: sessctl service status %s", u.about, u.name)
	})
}

// call runs commands in the user's home until one fails. Their output is ours.
func (a app) call(cmd *cobra.Command, commands [][]string) error {
	for _, words := range commands {
		c := exec.CommandContext(cmd.Context(), words[0], words[1:]...)
		c.Dir, c.Stdout, c.Stderr = a.Env("HOME"), a.Stdout, a.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
		}
	}
	return nil
}

// unitEnv are the variables that say where agents keep sessions and which user
// writes them.
var unitEnv = []string{
	"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "PI_CONFIG_DIR", "OPENRATH_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
	"XDG_DATA_HOME", "XDG_STATE_HOME", "SESS_BY",
}

// unit returns the service called name, whose program gets args.
func (a app) unit(name string, args []string) (unit, error) {
	exe, err := os.Executable()
	if err != nil {
		return unit{}, err
	}
	u := unit{name: name, about: "sessctl watch", words: []string{exe, "watch"}, env: map[string]string{}}
	if name == "node" {
		exe, err := exec.LookPath(filepath.Join(filepath.Dir(exe), "sessnode"))
		if err != nil {
			if exe, err = exec.LookPath("sessnode"); err != nil {
				return unit{}, err
			}
		}
		u.about, u.words = "sessnode", []string{exe}
	}
	for _, arg := range args {
		if _, err := os.Lstat(arg); err == nil {
			if arg, err = filepath.Abs(arg); err != nil {
				return unit{}, err
			}
		}
		u.words = append(u.words, arg)
	}
	for _, name := range unitEnv {
		if v := a.Env(name); v != "" {
			u.env[name] = v
		}
	}
	if url := cmp.Or(a.URL, a.Env("SESS_URL")); url != "" && name == "watch" {
		u.env["SESS_URL"] = url
	}
	return u, nil
}
