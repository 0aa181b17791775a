package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/humantime"
)

// OrDash returns s, or "-" if it is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Uint returns n in decimal.
func Uint(n uint64) string { return strconv.FormatUint(n, 10) }

// Join joins the parts that are not empty.
func Join(sep string, parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

// BlobsText returns a number of blobs as text, or "" for none.
func BlobsText(n int) string {
	if n == 0 {
		return ""
	}
	return Count(n, "blob", "blobs")
}

// Time formats t in the short local form.
func (a *App) Time(t time.Time) string { return humantime.Short(t, a.Now()) }

// TimeText formats a time that an agent wrote. An invalid one stays as it is.
func (a *App) TimeText(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return a.Time(t)
}

// Ago is like TimeText, but says how long ago a recent time was.
func (a *App) Ago(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return humantime.Since(t, a.Now())
}

// ShortID returns the short id of a session, or the whole id if the node sent none.
func ShortID(short string, id core.SessionID) string { return cmp.Or(short, string(id)) }

// Project returns the last element of a session's directory.
func Project(cwd string) string {
	cwd = strings.TrimRight(cwd, `/\`)
	return cwd[strings.LastIndexAny(cwd, `/\`)+1:]
}

// Count returns n with the singular or plural of a noun.
func Count[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Bytes returns a size in the largest unit that fits, such as "1.5 MiB".
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return Count(n, "byte", "bytes")
	}
	size, suffix := float64(n)/unit, 0
	for size >= unit && suffix < len("KMGTPE")-1 {
		size /= unit
		suffix++
	}
	return strings.Replace(fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[suffix]), ".0 ", " ", 1)
}

// CountIf is like Count, but returns "" for 0.
func CountIf(n int, one, many string) string {
	if n == 0 {
		return ""
	}
	return Count(n, one, many)
}

// AddNotice adds a row with the caller, time and reason of n, unless n is nil.
func (a *App) AddNotice(g *Grid, what string, n *core.Notice) {
	if n != nil {
		g.Row(what, OrNone(Join(", ", Join(" on ", n.By, n.Host), a.Time(n.Time), n.Why)))
	}
}

// ClaimText returns the holder of a claim, and since when.
func (a *App) ClaimText(c *core.Claim) string {
	who := c.Agent
	if who == "" {
		who = Join(" ", c.By, "(writer "+c.Writer+")")
	}
	who = Join(" on ", who, c.Host)
	if !c.Since.IsZero() {
		who += " since " + a.Time(c.Since)
	}
	return who
}

// LeafText returns a leaf as text.
func LeafText(l core.Leaf) string {
	if id, ok := l.ID(); ok {
		return id
	}
	if l.IsNone() {
		return "nothing"
	}
	return "the end"
}

// Deref returns *s, or "" if s is nil.
func Deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// OrNone returns s, or "none" if it is empty.
func OrNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
