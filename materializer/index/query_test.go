package index

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
)

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]term{
		"one  two":               {{"one", false}, {"two", false}},
		`"one two" three`:        {{"one two", false}, {"three", false}},
		`begin* "a phrase"*x`:    {{"begin", true}, {"a phrase", true}, {"x", false}},
		`don't a-b main.go`:      {{"don't", false}, {"a-b", false}, {"main.go", false}},
		`one"two"three`:          {{"one", false}, {"two", false}, {"three", false}},
		`- * "" OR ( one`:        {{"OR", false}, {"one", false}},
		"one\x00two\xff three":   {{"one\uFFFDtwo\uFFFD", false}, {"three", false}},
		"\u00a0one\u00a0two** x": {{"one", false}, {"two", true}, {"x", false}},
	} {
		got, err := parseQuery(query)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: %v\n%s", query, err, d)
		}
	}
	for query, says := range map[string]string{
		"": "no letter", `"open`: "quote", `a "`: "quote", "*** \"\"": "no letter", strings.Repeat("x", 2000): "bytes", strings.Repeat("x ", 40): "40 words",
	} {
		if _, err := parseQuery(query); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v", query, err)
		}
	}
}

func TestMatchTermsQuotesOperators(t *testing.T) {
	t.Parallel()
	terms, err := parseQuery(`NEAR(a OR text:b) say"s" x"*`)
	if err == nil {
		t.Fatal("a quote without an end is read", terms)
	}
	terms, err = parseQuery(`NEAR(a OR text:b) 日本* "y z"*`)
	if want := `"NEAR(a" AND "OR" AND "text:b)" AND "` + spaced("日本") + `"* AND "y z"*`; err != nil || matchTerms(terms) != want {
		t.Errorf("%s, %v\nwant %s", matchTerms(terms), err, want)
	}
}

func FuzzParseQuery(f *testing.F) {
	f.Add(`one "two three"* four*`)
	f.Fuzz(func(t *testing.T, query string) {
		terms, err := parseQuery(query)
		if err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Fatal(err)
		}
		_ = matchTerms(terms)
		_ = snippet(query, terms)
	})
}
