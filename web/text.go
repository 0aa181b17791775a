package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/humantime"
)

// maxText bounds a text, in bytes. A page has a link to the raw entry, an export does not.
const maxText = 64 << 10

// clip cuts a text at maxText, and returns how many bytes are left out.
func clip(s string) (string, int) { return clipAt(s, maxText) }

func clipAt(s string, most int) (string, int) {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "\uFFFD"), 0
	}
	return strings.ToValidUTF8(s[:most], ""), len(s) - most
}

// line returns a text as one short line.
func line(s string, most int) string {
	const escaped = 4 // how much longer a text with escape sequences may be
	short, cut := clipAt(display.WithoutEscapes(s[:min(len(s), escaped*most)]), most)
	short = strings.Join(strings.Fields(visible(short)), " ")
	if cut > 0 || len(s) > escaped*most {
		short += "…"
	}
	return short
}

// visible replaces characters that a page would not show, or that change the order of
// the text around them, such as a right-to-left override.
func visible(s string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		before := last
		last = r
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return r
		case r < ' ':
			return 0x2400 + r // the picture of a control character
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
			return 0xfffd
		case r == 0x200b, r >= 0x2060 && r <= 0x2064, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f: // no width; tags can hide whole texts
			return 0xfffd
		case r >= 0xe0100 && r <= 0xe01ef, r >= 0xfe00 && r <= 0xfe0d, r|1 == 0xfe0f && before|1 == 0xfe0f:
			return 0xfffd // variation selectors can, too; an emoji needs one of the last two
		}
		return r
	}, s)
}

// functions are those of the templates.
var functions = template.FuncMap{
	"line":    line,
	"tokens":  tokens,
	"cost":    display.Cost,
	"bytes":   bytesText,
	"amount":  amount,
	"ago":     ago,
	"clock":   clock,
	"project": project,
	"visible": visible,
	"query":   template.URLQueryEscaper,
	"add":     func(a, b int) int { return a + b },
	"add64":   func(a, b int64) int64 { return a + b },
	"odd":     func(n int) bool { return n%2 == 1 },
	"percent": func(part float64) string { return fmt.Sprintf("%.0f\u00a0%%", part*100) },
}

// tokens returns a count of tokens, such as "12.3k".
func tokens(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// amount returns what is used of a limit of a node, in bytes if its name says so.
func amount(name string, n int64) string {
	if name == "memory" || strings.HasSuffix(name, "Bytes") {
		return bytesText(int(n))
	}
	return fmt.Sprint(n)
}

func bytesText(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

func ago(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	return humantime.Since(t, time.Now())
}

// clock returns the minute of a time, in UTC: the script shows it in the reader's zone.
func clock(text string) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// project returns the last element of a directory.
func project(cwd string) string {
	cwd = strings.TrimRight(cwd, `/\`)
	return cwd[strings.LastIndexAny(cwd, `/\`)+1:]
}
