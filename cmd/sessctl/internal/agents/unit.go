package agents

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A unit is a command that runs as a service.
type unit struct {
	words []string
	env   map[string]string
}

// systemd returns a unit for the user's systemd. The token is in a separate file,
// because other users can read units.
func (u unit) systemd() string {
	var b strings.Builder
	b.WriteString(`# Put this into ~/.config/systemd/user/sesslog-watch.service, then:
#   systemctl --user enable --now sesslog-watch
# A node that asks for a token gets the one in ~/.config/sesslog/watch.env, which
# only you should be able to read: SESS_TOKEN=...
# Have it run while you are not logged in with: loginctl enable-linger

[Unit]
Description=Agents' sessions into the log
After=network-online.target

[Service]
`)
	var words []string
	for _, w := range u.words {
		words = append(words, systemdWord(w))
	}
	fmt.Fprintf(&b, "ExecStart=%s\n", strings.Join(words, " "))
	for _, name := range slices.Sorted(maps.Keys(u.env)) {
		fmt.Fprintf(&b, "Environment=%s\n", systemdWord(name+"="+u.env[name]))
	}
	b.WriteString(`EnvironmentFile=-%h/.config/sesslog/watch.env
Restart=always
RestartSec=2
Nice=5

[Install]
WantedBy=default.target`)
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

// launchd returns a property list for an agent of launchd.
func (u unit) launchd() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!-- Put this into ~/Library/LaunchAgents/org.sesslog.watch.plist, then:
     launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/org.sesslog.watch.plist
     A node that asks for a token gets SESS_TOKEN from EnvironmentVariables: add it,
     and let nobody but you read the file. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key><string>org.sesslog.watch</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, w := range u.words {
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
