package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// checkSample returns the findings of a file of testdata.
func checkSample(t *testing.T, name string) []string {
	t.Helper()
	src, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return checkFile(t, name, string(src))
}

func checkFile(t *testing.T, name, src string) []string {
	t.Helper()
	r, err := parseRules(wordsYAML)
	if err != nil {
		t.Fatal(err)
	}
	found, err := checkTree(r, fstest.MapFS{name: {Data: []byte(src)}}, ".", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		what := f.what
		if _, rest, ok := strings.Cut(what, "'"); ok {
			what, _, _ = strings.Cut(rest, "'")
		}
		out = append(out, fmt.Sprintf("%d %s", f.line, what))
	}
	slices.Sort(out)
	return out
}

func TestCheckReportsBadSamples(t *testing.T) {
	for name, want := range map[string][]string{
		"bad.go": {
			"1 anew",
			"10 goes on",
			"13 nobody",
			"15 Whoever",
			"16 is harmed", "17 for good",
			"20 mended", "20 mends",
			"22 the first line of an error has 134 characters, at most 120",
			"29 a Short text has 71 characters, at most 60",
		},
		"bad_test.go": {"5 nobody"},
		"bad.md": {
			"1 mended",
			"10 a sentence of 48 words, at most 45",
			"3 anew", "3 goes on",
			"8 whoever",
		},
		"bad.sh": {"2 whoever", "3 anew", "4 once more"},
	} {
		if got := checkSample(t, name); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

func TestCheckAcceptsGoodSamples(t *testing.T) {
	for _, name := range []string{"good.go", "good.md"} {
		if got := checkSample(t, name); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestSwapsMatchWholeWordsOnly(t *testing.T) {
	for src, want := range map[string]int{
		"The renewal of a canew lamender harmony.":           0,
		"Behind the\nproxy.":                                 0,
		"It lags behind the leader.":                         0,
		"It writes behind the record.":                       1,
		"A reader that knows nothing of it.":                 1,
		"ANEW":                                               1,
		"Run it with --anew, or anew.":                       1,
		"one object with " + strings.Repeat("a field, ", 30): 0,
	} {
		if got := checkFile(t, "a.md", src); len(got) != want {
			t.Errorf("%q: found %q, want %d", src, got, want)
		}
	}
}

func TestSentenceSplitsMixedCaps(t *testing.T) {
	for name, want := range map[string]string{
		"ACopyThatWentOn":  "a copy that went on",
		"HTTPServerIsGone": "http server is gone",
		"S3":               "s3",
	} {
		if got := sentence(name); got != want {
			t.Errorf("sentence(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestPendingPathsAreSkipped(t *testing.T) {
	skip := pending("# a comment\nstream\ncore/*  # only its own files\n\nREADME.md\n")
	for name, want := range map[string]bool{
		"stream/log.go":    true,
		"stream/sub/x.go":  true,
		"streams/log.go":   false,
		"core/entry.go":    true,
		"core/pi/entry.go": false,
		"README.md":        true,
		"docs/README.md":   false,
	} {
		if got := isPending(name, skip); got != want {
			t.Errorf("%s: pending is %t, want %t", name, got, want)
		}
	}
}

func TestParseRulesRejectsUnknownMembers(t *testing.T) {
	for _, doc := range []string{
		"extends: existence\nignorecase: true\n",
		"extends: substitution\nignorecase: true\ntokens: [a]\n",
		"extends: substitution\nignorecase: true\nswap: {'(': x}\n",
	} {
		if _, err := parseRules([]byte(doc)); err == nil {
			t.Errorf("no error for %q", doc)
		}
	}
}

// TestSamplesAreSkipped shows that the samples do not fail the run that they are
// samples for.
func TestSamplesAreSkipped(t *testing.T) {
	names, err := fs.Glob(os.DirFS("."), "testdata/*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		texts, err := textsOf(os.DirFS("../.."), path.Join("tools/prose", name))
		if err != nil || len(texts) > 0 {
			t.Errorf("%s: %d texts, %v", name, len(texts), err)
		}
	}
}

func TestRunCountsFindingsOfPendingFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/stream", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/stream/a.md", []byte("anew"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if n, err := run(&out, dir, true, nil); n != 1 || err != nil || !strings.Contains(out.String(), "1  stream\n") {
		t.Errorf("%d, %v:\n%s", n, err, &out)
	}
}
