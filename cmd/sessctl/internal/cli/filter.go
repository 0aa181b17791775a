package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/session/catalog"
)

// FilterFlags select sessions.
type FilterFlags struct {
	cwd, dialect, holder, label, name, text, fuzzy, state string

	below, deleted bool
	tags           []string

	since, until, createdSince, createdUntil string
	minSize, maxSize                         string
	minCost, maxCost                         string
}

// Add adds the flags to cmd.
func (f *FilterFlags) Add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.cwd, "cwd", "", "only sessions of the directory `DIR`; if it exists here, symbolic links are resolved")
	fs.BoolVar(&f.below, "below", false, "also sessions of the directories below --cwd")
	fs.StringVar(&f.dialect, "dialect", "", "only sessions of the agent `NAME`")
	fs.StringVar(&f.holder, "holder", "", "only sessions with a head held by `HOLDER`: an agent, host, person or writer")
	fs.StringArrayVar(&f.tags, "tag", nil, "only sessions with this `TAG`; if repeated, with all of them")
	fs.StringVar(&f.label, "label", "", "only sessions with an entry labelled `LABEL`")
	fs.StringVar(&f.name, "name", "", "only sessions with `TEXT` in the name")
	fs.StringVar(&f.text, "text", "", "only sessions with `TEXT` in the name or the first message")
	fs.StringVar(&f.fuzzy, "fuzzy", "", "only sessions with the characters of each of these `WORDS` in name and first message, in their order")
	fs.StringVar(&f.state, "state", "", "only sessions that are `STATE`: open, closed, claimed or interrupted")
	fs.BoolVar(&f.deleted, "deleted", false, "list the trash instead")
	fs.StringVar(&f.since, "since", "", "only sessions modified at `TIME` or later: 2026-01-02, 2026-01-02T03:04:05Z, or 36h or 7d ago")
	fs.StringVar(&f.until, "until", "", "only sessions modified at `TIME` or before")
	fs.StringVar(&f.createdSince, "created-since", "", "only sessions created at `TIME` or later")
	fs.StringVar(&f.createdUntil, "created-until", "", "only sessions created at `TIME` or before")
	fs.StringVar(&f.minSize, "min-size", "", "only sessions of `SIZE` or more, such as 10MiB")
	fs.StringVar(&f.maxSize, "max-size", "", "only sessions of `SIZE` or less")
	fs.StringVar(&f.minCost, "min-cost", "", "only sessions that cost `AMOUNT` or more")
	fs.StringVar(&f.maxCost, "max-cost", "", "only sessions that cost `AMOUNT` or less")
}

// Options validates the flags and returns them as options of a request.
func (f *FilterFlags) Options(now time.Time) (catalog.Filter, error) {
	var errs []error
	cwd, err := Directory(f.cwd)
	if err != nil {
		errs = append(errs, err)
	}
	o := catalog.Filter{
		CWD: cwd, Below: f.below, Dialect: f.dialect, Holder: f.holder, Tags: f.tags, Label: f.label,
		Name: f.name, Text: f.text, Fuzzy: f.fuzzy, Deleted: f.deleted,
	}
	o.State, err = parseState(f.state)
	if err != nil {
		errs = append(errs, err)
	}
	if f.below && f.cwd == "" {
		errs = append(errs, errors.New("--below requires --cwd"))
	}
	moment := func(s string) (time.Time, error) { return ParseMoment(s, now) }
	errs = append(errs,
		FlagValue("since", f.since, &o.Modified.From, moment), FlagValue("until", f.until, &o.Modified.To, moment),
		FlagValue("created-since", f.createdSince, &o.Created.From, moment), FlagValue("created-until", f.createdUntil, &o.Created.To, moment),
		FlagValue("min-size", f.minSize, &o.Size.From, ParseSize), FlagValue("max-size", f.maxSize, &o.Size.To, ParseSize),
		FlagValue("min-cost", f.minCost, &o.Cost.From, parseAmount), FlagValue("max-cost", f.maxCost, &o.Cost.To, parseAmount))
	if err := errors.Join(errs...); err != nil {
		return o, &UsageError{err.Error()}
	}
	return o, nil
}

// States are the values of --state.
var States = []string{string(catalog.StateOpen), string(catalog.StateClosed), "claimed", string(catalog.StateInterrupted)}

// parseState returns the state that --state names. The state of a session with a
// claimed head is called held in requests, and was here.
func parseState(name string) (catalog.State, error) {
	if name == "claimed" || name == string(catalog.StateHeld) {
		return catalog.StateHeld, nil
	}
	if name != "" && !slices.Contains(States, name) {
		return "", fmt.Errorf("--state %q is not one of %s", name, strings.Join(States, ", "))
	}
	return catalog.State(name), nil
}

func list[T ~string](names []T) string {
	var b []string
	for _, n := range names {
		b = append(b, string(n))
	}
	return strings.Join(b, ", ")
}

// ParseSort sets the order of o from the value of --sort.
func ParseSort(o *catalog.Filter, by string) error {
	if by == "" {
		return nil
	}
	i := slices.IndexFunc(catalog.Sorts, func(s catalog.Sort) bool { return string(s) == by })
	if i < 0 {
		return Usagef("--sort %q is not one of %s", by, list(catalog.Sorts))
	}
	o.Sort = catalog.Sorts[i]
	return nil
}

// FlagValue parses the value s of the flag name into to. An empty s is skipped.
func FlagValue[T any](name, s string, to **T, parse func(string) (T, error)) error {
	if s == "" {
		return nil
	}
	v, err := parse(s)
	if err != nil {
		return fmt.Errorf("--%s %q: %w", name, s, err)
	}
	*to = &v
	return nil
}

// ParseMoment parses a day in the time zone of now, a time, or an age such as 36h or
// 7d.
func ParseMoment(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	if d, err := ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, errors.New("use a day such as 2026-01-02, a time such as 2026-01-02T03:04:05Z, or how long ago: 36h, 7d")
}

// ParseSize parses a number of bytes, with an optional unit.
func ParseSize(s string) (int64, error) {
	number, unit := s, int64(1)
	for i, name := range []string{"B", "KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(s, name); ok {
			number, unit = n, 1<<(10*i)
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || n < 0 || n*float64(unit) > 1<<62 {
		return 0, errors.New("use a number of bytes, or a number with KiB, MiB or GiB")
	}
	return int64(n * float64(unit)), nil
}

func parseAmount(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n != n {
		return 0, errors.New("use a number")
	}
	return n, nil
}
