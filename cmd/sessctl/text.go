package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/humantime"
)

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

// join joins those of the parts that are not empty.
func join(sep string, parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

// blobsText is how many blobs there are, empty for none.
func blobsText(n int) string {
	if n == 0 {
		return ""
	}
	return count(n, "blob", "blobs")
}

// when is a time as people on this host read it: short.
func (a *app) when(t time.Time) string { return humantime.Short(t, a.now()) }

// whenText is when for a time that an agent wrote.
func (a *app) whenText(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return a.when(t)
}

// count is n things, in words.
func count[N int | int64 | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return count(n, "byte", "bytes")
	}
	size, suffix := float64(n)/unit, 0
	for size >= unit && suffix < len("KMGTPE")-1 {
		size /= unit
		suffix++
	}
	return strings.Replace(fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[suffix]), ".0 ", " ", 1)
}

// countIf is count, empty for none.
func countIf(n int, one, many string) string {
	if n == 0 {
		return ""
	}
	return count(n, one, many)
}

func (a *app) addNotice(g *grid, what string, n *core.Notice) {
	if n != nil {
		g.add(what, orNone(join(", ", join(" on ", n.By, n.Host), a.when(n.Time), n.Why)))
	}
}

// claimText is who holds a claim, since when.
func (a *app) claimText(c *core.Claim) string {
	who := c.Agent
	if who == "" {
		who = join(" ", c.By, "(writer "+c.Writer+")")
	}
	who = join(" on ", who, c.Host)
	if !c.Since.IsZero() {
		who += " since " + a.when(c.Since)
	}
	return who
}

func leafText(l core.Leaf) string {
	if id, ok := l.ID(); ok {
		return id
	}
	if l.IsNone() {
		return "nothing"
	}
	return "the end"
}

func addIf(g *grid, name, value string) {
	if value != "" {
		g.add(name, value)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
