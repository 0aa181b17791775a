package secrets

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/sesslog/sesslog/core"
)

//go:embed gitleaks/gitleaks.toml
var defaultConfig []byte

// A config is a file in gitleaks' format, as far as it is used here.
type config struct {
	Extend struct {
		DisabledRules []string `toml:"disabledRules"`
	} `toml:"extend"`
	Allowlist  *configAllowlist  `toml:"allowlist"`
	Allowlists []configAllowlist `toml:"allowlists"`
	Rules      []configRule      `toml:"rules"`
}

type configRule struct {
	ID          string            `toml:"id"`
	Regex       string            `toml:"regex"`
	Path        string            `toml:"path"`
	SecretGroup int               `toml:"secretGroup"`
	Entropy     float64           `toml:"entropy"`
	Keywords    []string          `toml:"keywords"`
	SkipReport  bool              `toml:"skipReport"`
	Allowlist   *configAllowlist  `toml:"allowlist"`
	Allowlists  []configAllowlist `toml:"allowlists"`
}

type configAllowlist struct {
	Condition   string   `toml:"condition"`
	Paths       []string `toml:"paths"`
	Commits     []string `toml:"commits"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	StopWords   []string `toml:"stopwords"`
}

// Read returns gitleaks' rules and those of the file at path, which may be empty or not
// exist. A rule of the file replaces gitleaks' rule of that name.
func Read(path string) (*Rules, error) {
	var own []byte
	if path != "" {
		var err error
		if own, err = os.ReadFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	r, err := parse(defaultConfig, own)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// parse compiles the rules of several files, of which later ones have precedence.
func parse(files ...[]byte) (*Rules, error) {
	rules, r := map[string]configRule{}, &Rules{}
	for _, data := range files {
		var c config
		if err := toml.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("%v: %w", err, core.ErrInvalid)
		}
		for _, id := range c.Extend.DisabledRules {
			delete(rules, id)
		}
		for _, rule := range c.Rules {
			if !ruleName.MatchString(rule.ID) {
				return nil, fmt.Errorf("the id of a rule is %.80q, want 1 to 64 letters, digits, dots and dashes: %w", rule.ID, core.ErrInvalid)
			}
			rules[rule.ID] = rule
		}
		allow, err := compileAllowlists(c.Allowlist, c.Allowlists)
		if err != nil {
			return nil, err
		}
		r.allow = append(r.allow, allow...)
	}
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		one, err := compileRule(rules[id])
		if err != nil {
			return nil, fmt.Errorf("rule %s: %v: %w", id, err, core.ErrInvalid)
		}
		if one != nil {
			r.rules = append(r.rules, *one)
		}
	}
	r.index()
	return r, nil
}

// ruleName is what a mask can name.
var ruleName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// compileRule returns nil for a rule that says nothing about text.
func compileRule(c configRule) (*rule, error) {
	if c.Regex == "" || c.Path != "" || c.SkipReport {
		return nil, nil
	}
	re, err := regexp.Compile(c.Regex)
	if err != nil {
		return nil, err
	}
	if c.SecretGroup < 0 || c.SecretGroup > re.NumSubexp() {
		return nil, fmt.Errorf("its expression has no group %d", c.SecretGroup)
	}
	allow, err := compileAllowlists(c.Allowlist, c.Allowlists)
	if err != nil {
		return nil, err
	}
	reach, err := reachOf(c.Regex)
	if err != nil {
		return nil, err
	}
	out := &rule{id: c.ID, re: re, reach: reach, group: c.SecretGroup, entropy: c.Entropy, allow: allow}
	for _, k := range c.Keywords {
		out.keywords = append(out.keywords, strings.ToLower(k))
	}
	return out, nil
}

func compileAllowlists(one *configAllowlist, more []configAllowlist) (all []allowlist, err error) {
	if one != nil {
		more = append([]configAllowlist{*one}, more...)
	}
	for _, c := range more {
		a := allowlist{every: isAnd(c.Condition), target: cmp.Or(c.RegexTarget, "secret")}
		if a.every && len(c.Paths)+len(c.Commits) > 0 {
			continue // lines have neither, so not everything matches
		}
		for _, expr := range c.Regexes {
			re, err := regexp.Compile(expr)
			if err != nil {
				return nil, err
			}
			a.regexes = append(a.regexes, re)
		}
		for _, w := range c.StopWords {
			a.words = append(a.words, strings.ToLower(w))
		}
		all = append(all, a)
	}
	return all, nil
}

func isAnd(condition string) bool { return strings.EqualFold(condition, "AND") || condition == "&&" }
