package admin

import (
	"bytes"
	"errors"
	"io"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/report"
)

// A policyFile is the YAML form of a retention policy.
type policyFile struct {
	Rules      []policyRule `yaml:"rules"`
	EraseTrash bool         `yaml:"erase_trash"`
}

type policyRule struct {
	Name       string `yaml:"name"`
	CWD        string `yaml:"cwd"`
	Dialect    string `yaml:"dialect"`
	Tag        string `yaml:"tag"`
	UnlessTag  string `yaml:"unless_tag"`
	OlderThan  string `yaml:"older_than"`
	LargerThan string `yaml:"larger_than"`
	Keep       int    `yaml:"keep"`
	Per        string `yaml:"per"`
}

// readPolicy parses a policy file. Unknown fields are errors.
func readPolicy(b []byte) (report.Policy, error) {
	var f policyFile
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return report.Policy{}, cli.Usagef("the policy: %v", err)
	}
	return f.policy()
}

func (f *policyFile) policy() (report.Policy, error) {
	p := report.Policy{EraseTrash: f.EraseTrash}
	for _, r := range f.Rules {
		older, err := parseAge(r.OlderThan)
		if err != nil {
			return p, err
		}
		larger, err := parseBound(r.LargerThan)
		if err != nil {
			return p, err
		}
		p.Rules = append(p.Rules, report.Rule{
			Name: r.Name, CWD: r.CWD, Dialect: r.Dialect, Tag: r.Tag, UnlessTag: r.UnlessTag,
			OlderThan: older, LargerThan: larger, Keep: r.Keep, Per: r.Per,
		})
	}
	if err := p.Check(); err != nil {
		return p, cli.Usagef("%v", err)
	}
	return p, nil
}

// parseAge parses a duration, also in days.
func parseAge(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := cli.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, cli.Usagef("%q is not a time: use 24h or 90d", s)
	}
	return d, nil
}

// parseBound parses a size above 0. It returns 0 for "".
func parseBound(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := cli.ParseSize(s)
	if err != nil || n == 0 {
		return 0, cli.Usagef("%.128q is not a size: use 4096, 64KiB or 256MiB", s)
	}
	return n, nil
}
