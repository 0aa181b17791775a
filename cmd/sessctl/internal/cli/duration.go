package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// ParseDuration parses a duration such as 90s, 36h, 7d or 0.5d, which is not
// negative. A day has 24 hours.
func ParseDuration(s string) (time.Duration, error) {
	const maxDays = 100_000
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < maxDays {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	return 0, errors.New("use a number with a unit, such as 30s, 36h or 7d")
}

// DurationVar adds a flag for a duration.
func DurationVar(fs *pflag.FlagSet, d *time.Duration, name string, value time.Duration, usage string) {
	*d = value
	fs.Var((*duration)(d), name, usage)
}

type duration time.Duration

func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (*duration) Type() string { return "duration" }

func (d *duration) Set(s string) error {
	v, err := ParseDuration(s)
	*d = duration(v)
	return err
}
