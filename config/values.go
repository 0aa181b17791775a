package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Size is a number of bytes, written as "256MiB", "64KiB", "1GiB" or "4096".
type Size int64

var units = []struct {
	name string
	size Size
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (s Size) String() string {
	for _, u := range units {
		if s != 0 && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText gives String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what String gives.
func (s *Size) UnmarshalText(b []byte) error {
	text, unit := strings.TrimSpace(string(b)), Size(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = strings.TrimSpace(n), u.size
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return fmt.Errorf("%q is not a size such as 256MiB", b)
	}
	*s = Size(n) * unit
	return nil
}

// UnmarshalYAML is UnmarshalText that names the line.
func (s *Size) UnmarshalYAML(n *yaml.Node) error { return atLine(n, s.UnmarshalText([]byte(n.Value))) }

// UnmarshalYAML is UnmarshalText that names the line.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	return atLine(n, d.UnmarshalText([]byte(n.Value)))
}

// atLine makes err one of those that the decoder collects.
func atLine(n *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", n.Line, err)}}
}

// Duration is a time.Duration, written as "30s" or "0".
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText gives String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads, but nothing negative.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration such as 30s", b)
	}
	*d = Duration(v)
	return nil
}

// Sync is when a server flushes records: an interval, SyncGroup or SyncAuto.
type Sync time.Duration

const (
	// SyncGroup is written as "group": records wait for a flush that they share.
	// Nothing is acknowledged before its flush.
	SyncGroup Sync = -1
	// SyncAuto is written as "auto": SyncGroup where it is possible, and otherwise 0,
	// each record before its answer. Settle replaces it.
	SyncAuto Sync = -2
)

func (s Sync) String() string {
	switch s {
	case SyncGroup:
		return "group"
	case SyncAuto:
		return "auto"
	}
	return time.Duration(s).String()
}

// Interval returns how long after its answer a record may be flushed, at most.
func (s Sync) Interval() time.Duration { return max(0, time.Duration(s)) }

// MarshalText gives String.
func (s Sync) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads "group", "auto", or a Duration.
func (s *Sync) UnmarshalText(b []byte) error {
	for _, named := range []Sync{SyncGroup, SyncAuto} {
		if string(b) == named.String() {
			*s = named
			return nil
		}
	}
	var d Duration
	if err := d.UnmarshalText(b); err != nil {
		return fmt.Errorf("%q is neither group, auto, nor a duration such as 0 or 30s", b)
	}
	*s = Sync(d)
	return nil
}

// UnmarshalYAML is UnmarshalText that names the line.
func (s *Sync) UnmarshalYAML(n *yaml.Node) error { return atLine(n, s.UnmarshalText([]byte(n.Value))) }

// List is several words, parted by commas in the environment and in flags.
type List []string

func (l List) String() string { return strings.Join(l, ",") }

// UnmarshalText reads what String gives.
func (l *List) UnmarshalText(b []byte) error {
	*l = nil
	for w := range strings.SplitSeq(string(b), ",") {
		if w = strings.TrimSpace(w); w != "" {
			*l = append(*l, w)
		}
	}
	return nil
}
