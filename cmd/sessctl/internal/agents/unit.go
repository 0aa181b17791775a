package agents

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A unit is a command that runs as a service of the user.
type unit struct {
	name  string // of the service: watch or node
	about string
	words []string
	env   map[string]string
}

// systemd returns a unit for the user's systemd. Secrets are in a separate file,
// because other users can read units.
func (u unit) systemd() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=%s\nAfter=network-online.target\n\n[Service]\n", u.about)
	var words []string
	for _, w := range u.words {
		words = append(words, systemdWord(w))
	}
	fmt.Fprintf(&b, "ExecStart=%s\n", strings.Join(words, " "))
	for _, name := range slices.Sorted(maps.Keys(u.env)) {
		fmt.Fprintf(&b, "Environment=%s\n", systemdWord(name+"="+u.env[name]))
	}
	fmt.Fprintf(&b, "EnvironmentFile=-%%h/.config/sesslog/%s.env\nRestart=always\nRestartSec=2\n\n[Install]\nWantedBy=default.target", u.name)
	return b.String()
}

// systemdWord quotes s as one literal word of a unit.
func systemdWord(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`, "\n", `\n`).Replace(s)
	if strings.ContainsAny(s, " \t'\";#\\") {
		return `"` + s + `"`
	}
	return s
}

// label is the name of the service for launchd.
func (u unit) label() string { return "org.sesslog." + u.name }

// readSecrets is a shell command that reads the variables of the file of secrets, if it
// exists, and runs its arguments. launchd cannot read such files itself.
func (u unit) readSecrets() string {
	return fmt.Sprintf(`f="$HOME/.config/sesslog/%s.env"; set -a; if [ -r "$f" ]; then . "$f"; fi; exec "$@"`, u.name)
}

// launchd returns a property list for an agent of launchd. Secrets are in the same
// separate file as with systemd.
func (u unit) launchd() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key><string>` + u.label() + `</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, w := range append([]string{"/bin/sh", "-c", u.readSecrets(), "sh"}, u.words...) {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", xmlText(w))
	}
	b.WriteString("\t</array>\n")
	if len(u.env) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, name := range slices.Sorted(maps.Keys(u.env)) {
			fmt.Fprintf(&b, "\t\t<key>%s</key><string>%s</string>\n", xmlText(name), xmlText(u.env[name]))
		}
		b.WriteString("\t</dict>\n")
	}
	b.WriteString(`	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><true/>
	<key>ProcessType</key><string>Background</string>
</dict>
</plist>`)
	return b.String()
}

func xmlText(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // writes to a buffer do not fail
	return b.String()
}
