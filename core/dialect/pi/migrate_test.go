package pi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// PI-14
func TestMigration(t *testing.T) {
	t.Parallel()
	const (
		v1      = `{"type":"session","id":"s","cwd":"/"}`
		v1in3   = `{"type":"session","id":"s","cwd":"/","version":3}`
		one     = `{"type":"message","message":{"role":"user","content":"1"}`
		two     = `{"type":"message","message":{"role":"user","content":"2"}`
		compact = `{"type":"compaction","summary":"S"`
	)
	// In what is wanted, $1, $2 … are the new ids.
	for _, c := range []struct {
		name string
		in   []string
		want []string
	}{
		{"V1", []string{v1, one + "}", two + "}"}, []string{v1in3, one + `,"id":"$1","parentId":null}`, two + `,"id":"$2","parentId":"$1"}`}},
		{
			"VersionInPlace",
			[]string{`{"type":"session","version":1,"id":"s"}`, one + "}"},
			[]string{`{"type":"session","version":3,"id":"s"}`, one + `,"id":"$1","parentId":null}`},
		},
		{
			"ExistingIDsAreReplacedInPlace",
			[]string{v1, `{"id":"x","type":"message","parentId":"y"}`},
			[]string{v1in3, `{"id":"$1","type":"message","parentId":null}`},
		},
		{"IndexOfAnEarlier", []string{v1, one + "}", two + "}", compact + `,"firstKeptEntryIndex":2}`}, []string{
			v1in3, one + `,"id":"$1","parentId":null}`, two + `,"id":"$2","parentId":"$1"}`, compact + `,"id":"$3","parentId":"$2","firstKeptEntryId":"$2"}`,
		}},
		{"IndexOfTheHeader", []string{v1, compact + `,"firstKeptEntryIndex":0}`}, []string{v1in3, compact + `,"id":"$1","parentId":null}`}},
		{"IndexOfItself", []string{v1, compact + `,"firstKeptEntryIndex":1}`}, []string{v1in3, compact + `,"id":"$1","parentId":null,"firstKeptEntryId":"$1"}`}},
		{"IndexOutOfRange", []string{v1, compact + `,"firstKeptEntryIndex":99}`}, []string{v1in3, compact + `,"id":"$1","parentId":null}`}},
		{"IndexBelowRange", []string{v1, compact + `,"firstKeptEntryIndex":-1}`}, []string{v1in3, compact + `,"id":"$1","parentId":null}`}},
		{"IndexBetween", []string{v1, compact + `,"firstKeptEntryIndex":0.5}`}, []string{v1in3, compact + `,"id":"$1","parentId":null}`}},
		{"IndexInfinite", []string{v1, compact + `,"firstKeptEntryIndex":1e400}`}, []string{v1in3, compact + `,"id":"$1","parentId":null}`}},
		{"IndexIsText", []string{v1, compact + `,"firstKeptEntryIndex":"1"}`}, []string{v1in3, compact + `,"firstKeptEntryIndex":"1","id":"$1","parentId":null}`}},
		{"IndexForward", []string{v1, compact + `,"firstKeptEntryIndex":2}`, one + "}"}, []string{
			v1in3, compact + `,"id":"$1","parentId":null}`, one + `,"id":"$2","parentId":"$1"}`,
		}},
		{"IndexForwardToAnOldID", []string{v1, compact + `,"firstKeptEntryIndex":2}`, `{"id":"old"}`}, []string{
			v1in3, compact + `,"id":"$1","parentId":null,"firstKeptEntryId":"old"}`, `{"id":"$2","parentId":"$1"}`,
		}},
		{"BadLinesShiftTheIndex", []string{v1, "bad", one + "}", two + "}", compact + `,"firstKeptEntryIndex":2}`}, []string{
			v1in3, one + `,"id":"$1","parentId":null}`, two + `,"id":"$2","parentId":"$1"}`, compact + `,"id":"$3","parentId":"$2","firstKeptEntryId":"$2"}`,
		}},
		{"LaterHeader", []string{v1, one + "}", `{"type":"session","id":"z"}`, two + "}"}, []string{
			v1in3, one + `,"id":"$1","parentId":null}`, `{"type":"session","id":"z","version":3}`, two + `,"id":"$3","parentId":"$1"}`,
		}},
		{
			"V2HookMessage",
			[]string{`{"type":"session","version":2,"id":"s"}`, `{"type":"message","id":"h","message":{"role":"hookMessage","content":1}}`},
			[]string{`{"type":"session","version":3,"id":"s"}`, `{"type":"message","id":"h","message":{"role":"custom","content":1}}`},
		},
		{
			"V2MessageIsNull",
			[]string{`{"type":"session","version":2,"id":"s"}`, `{"type":"message","id":"h","message":null}`},
			[]string{`{"type":"session","version":3,"id":"s"}`, `{"type":"message","id":"h","message":null}`},
		},
		{
			"WrittenAsJavaScriptWould",
			[]string{`{ "type":"session","id":"s","version":2,"n":1.0 }`, `{"id":"h","2":1e400,"1":"\u0041\/","id":"i"}` + "\r"},
			[]string{`{"type":"session","id":"s","version":3,"n":1}`, `{"1":"A/","2":null,"id":"i"}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := pi.Dialect{}.File(text(c.in...))
			if err != nil {
				t.Fatal(err)
			}
			var pairs []string
			for i, e := range f.Entries {
				pairs = append(pairs, fmt.Sprintf("$%d", i+1), e.ID)
			}
			want := strings.NewReplacer(pairs...).Replace(string(text(c.want...)))
			if got := string(core.Lines(f.Header.Before(f.Entries))); got != want || f.Exact {
				t.Errorf("exact %v\n%s\nwant\n%s", f.Exact, got, want)
			}
		})
	}
}

// PI-14
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, said string
		migrated  bool
		given     bool // new ids
	}{
		{`3`, `3`, false, false},
		{`"3"`, `"3"`, false, false},
		{`4`, `4`, false, false},
		{`99`, `99`, false, false},
		{`1e400`, `1e400`, false, false},
		{`[3]`, `[3]`, false, false},
		{`"0x3"`, `"0x3"`, false, false},
		{`2`, `2`, true, false},
		{`"2"`, `"2"`, true, false},
		{`" 2\n"`, `" 2\n"`, true, false},
		{`["2"]`, `["2"]`, true, false},
		{`2.5`, `2.5`, true, false},
		{`"abc"`, `"abc"`, true, false},
		{`[1,2]`, `[1,2]`, true, false},
		{`{}`, `{}`, true, false},
		{`1`, `1`, true, true},
		{`0`, `0`, true, true},
		{`-7`, `-7`, true, true},
		{`null`, `null`, true, true},
		{`true`, `true`, true, true},
		{`false`, `false`, true, true},
		{`""`, `""`, true, true},
		{`[]`, `[]`, true, true},
		{`[null]`, `[null]`, true, true},
		{`"-Infinity"`, `"-Infinity"`, true, true},
	} {
		t.Run(c.raw, func(t *testing.T) {
			t.Parallel()
			f, err := pi.Dialect{}.File(text(`{"type":"session","id":"s","version":`+c.raw+`}`, `{"id":"old"}`))
			if err != nil {
				t.Fatal(err)
			}
			if given := f.Entries[0].ID != "old"; f.Version != c.said || f.Exact == c.migrated || given != c.given {
				t.Errorf("version %s, exact %v, new ids %v", f.Version, f.Exact, given)
			}
		})
	}
}

// PI-14
// TestMigratedIDs pins the ids: they may never change, for other hosts have
// imported the same files.
func TestMigratedIDs(t *testing.T) {
	t.Parallel()
	same := `{"type":"message"}`
	f, err := pi.Dialect{}.File(text(`{"type":"session","id":"s"}`, same, same, same))
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(f.Entries); got != pinnedIDs {
		t.Errorf("ids %s, want %s", got, pinnedIDs)
	}
	other, err := pi.Dialect{}.File(text(`{"type":"session","id":"t"}`, same))
	if err != nil {
		t.Fatal(err)
	}
	if other.Entries[0].ID == f.Entries[0].ID {
		t.Error("two sessions, one id")
	}
}

const pinnedIDs = "6dceb9f2 89e44065 397b51b7"

// TestManyMigratedIDs has so many entries that 8 digits come out alike.
func TestManyMigratedIDs(t *testing.T) {
	t.Parallel()
	const n = 100_000
	data := append(text(`{"type":"session","id":"s"}`), bytes.Repeat([]byte("{}\n"), n)...)
	f, err := pi.Dialect{}.File(data)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool, n)
	for _, e := range f.Entries {
		if len(e.ID) != 8 || seen[e.ID] {
			t.Fatalf("id %q, seen before: %v", e.ID, seen[e.ID])
		}
		seen[e.ID] = true
	}
}
