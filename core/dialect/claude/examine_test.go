package claude

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/optional"
)

// turns makes n turns of two messages a minute apart. The first has the parent up.
func turns(first, n int, up string) (lines []string) {
	for i := first; i < first+n; i++ {
		u, a := fmt.Sprint("u", i), fmt.Sprint("a", i)
		lines = append(lines, prompt(i*60000, u, up, fmt.Sprint("question ", i)), answer(i*60000+1000, a, u, "m"+u, words(fmt.Sprint("answer ", i))))
		up = a
	}
	return lines
}

func examine(t *testing.T, data []byte, join bool) optional.Examination {
	t.Helper()
	x, err := optional.Examine(Dialect{}, sid+".jsonl", map[string][]byte{sid + ".jsonl": data}, join)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func kindsOf(x optional.Examination) string {
	var all []string
	for _, f := range x.Faults {
		all = append(all, string(f.Kind))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

const progressLine = `"data":{"type":"hook_progress"},"toolUseID":"t1"`

// The bugs for which Claude Code lost history on resume, in files made for this
// test. Each names what a resume would reach before and after the repair.
func TestExamineFindsWhyResumeLosesHistory(t *testing.T) {
	t.Parallel()
	cat := func(parts ...any) (lines []string) {
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				lines = append(lines, p)
			case []string:
				lines = append(lines, p...)
			}
		}
		return lines
	}
	for name, c := range map[string]struct {
		lines       []string
		cut         int // bytes missing at the end
		faults      string
		sent, after int // messages
		lost        int // after the repair
		join        bool
	}{
		"whole":              {lines: turns(0, 5, ""), sent: 10, after: 10},
		"parent was removed": {lines: cat(turns(0, 5, ""), turns(6, 2, "gone")), faults: "missing-parent", sent: 4, after: 14},
		"two branches have the same missing parent": {
			lines: cat(turns(0, 3, ""), prompt(122000, "u3", "gone", "left"), answer(123000, "a3", "u3", "m3", words("left")),
				turns(20, 1, "gone")),
			faults: "missing-parent", sent: 2, after: 8,
		},
		"a parent is missing at each restart": {
			lines:  cat(turns(0, 9, ""), turns(20, 3, "gone1"), turns(30, 3, "gone2"), turns(40, 1, "gone3")),
			faults: "missing-parent", sent: 2, after: 32,
		},
		"parent of a tool's result is missing": {
			lines:  cat(turns(0, 2, ""), prompt(300000, "u9", "a1", "use it"), result(420000, "r9", "gone", "t9"), answer(421000, "a9", "r9", "m9", words("done"))),
			faults: "missing-parent", sent: 2, after: 7,
		},
		"short gap that the agent bridges": {
			lines: cat(turns(0, 2, ""), prompt(63000, "u9", "gone", "more")), sent: 5, after: 5,
		},
		"progress is at the end": {
			lines: cat(turns(0, 2, ""), turns(2, 6, "a1"), say(999000, "progress", "p1", "a1", progressLine)), sent: 16, after: 16,
		},
		"progress is a link": {
			lines: cat(turns(0, 2, ""), say(70000, "progress", "p1", "a1", progressLine), turns(2, 2, "p1")), sent: 8, after: 8,
		},
		"snapshot has the id of a message": {
			lines: cat(turns(0, 2, ""), `{"type":"file-history-snapshot","messageId":"u2","snapshot":{"messageId":"u2"},"isSnapshotUpdate":false}`, turns(2, 2, "a1")), sent: 8, after: 8,
		},
		"two messages have one id": {
			lines:  cat(turns(0, 2, ""), prompt(150000, "u0", "a1", "another"), answer(160000, "a9", "u0", "m9", words("yes"))),
			faults: "colliding-ids cycle", sent: 5, after: 6,
		},
		"a message is there twice": {
			lines: cat(turns(0, 2, ""), turns(0, 2, "")), sent: 4, after: 4,
		},
		"leaf does not exist": {
			lines: cat(turns(0, 2, ""), leafLine("gone")), faults: "missing-leaf", sent: 4, after: 4,
		},
		"leaf is stale": {
			lines: cat(turns(0, 2, ""), turns(4, 3, "a0"), prompt(70000, "u9", "a1", "older"), leafLine("u9")), faults: "", sent: 5, after: 5,
		},
		"leaf is before later lines": {
			lines:  cat(turns(0, 2, ""), prompt(70000, "u9", "a1", "rewound"), turns(4, 3, "a1"), leafLine("u9")),
			faults: "stale-leaf", sent: 5, after: 10,
		},
		"session continued from a stale leaf": {
			lines:  cat(turns(0, 2, ""), turns(2, 20, "a1"), turns(30, 2, "a1")),
			faults: "branch", sent: 8, after: 8,
		},
		"session continued from a stale leaf, joined": {
			lines:  cat(turns(0, 2, ""), turns(2, 20, "a1"), turns(30, 2, "a1")),
			faults: "branch", sent: 8, after: 48, join: true,
		},
		"user rewound": {
			lines: cat(turns(0, 2, ""), turns(2, 1, "a1"), turns(5, 1, "a1")), sent: 6, after: 6,
		},
		"tail is cut": {lines: turns(0, 3, ""), cut: 30, faults: "truncated-tail", sent: 5, after: 5},
		"lines are glued": {
			lines:  cat(turns(0, 2, ""), strings.Join(turns(2, 2, "a1"), ""), turns(5, 1, "a3")),
			faults: "glued-lines", sent: 2, after: 10,
		},
		"line follows an incomplete one": {
			lines:  cat(turns(0, 2, ""), `{"parentUuid":"a1","type":"user","message":{"role":"user","content":[{"type":"text","text":"cu`+turns(2, 1, "a1")[0], turns(2, 1, "a1")[1]),
			faults: "glued-lines", sent: 1, after: 6,
		},
		"NUL bytes before a line": {
			lines: cat(turns(0, 2, ""), "\x00\x00\x00"+prompt(200000, "u9", "a1", "after the power cut")), faults: "glued-lines", sent: 4, after: 5,
		},
		"garbage": {lines: cat(turns(0, 2, ""), "garbage", turns(2, 1, "a1")), faults: "bad-line", sent: 6, after: 6},
		"a line is its own ancestor": {
			lines:  cat(turns(0, 2, ""), prompt(300000, "u8", "a8", "round"), answer(301000, "a8", "u8", "m8", words("and round"))),
			faults: "cycle", sent: 2, after: 6,
		},
		"kept lines of a compaction are missing": {
			lines: cat(turns(0, 2, ""), `{"parentUuid":null,"logicalParentUuid":"a1","isSidechain":false,"type":"system","subtype":"compact_boundary","compactMetadata":{"preservedSegment":{"headUuid":"x","anchorUuid":"s","tailUuid":"y"}},"uuid":"c","timestamp":"`+at(200000)+`"}`,
				say(201000, "user", "s", "c", `"message":{"role":"user","content":"Summary."},"isCompactSummary":true`)),
			faults: "lost-segment", sent: 1, after: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := dialecttest.Text(c.lines...)
			data = data[:len(data)-c.cut]
			x := examine(t, data, c.join)
			if kindsOf(x) != c.faults || x.Sent != c.sent {
				t.Errorf("faults %v; %d messages are sent, not %d: %+v", x.Faults, x.Sent, c.sent, x)
			}
			repaired := append(bytes.Clone(data), x.Append...)
			if x.Copy != nil {
				repaired = x.Copy
			}
			y := examine(t, repaired, false)
			if y.Sent != c.after || y.Lost() != 0 {
				t.Errorf("after the repair %d messages are sent, not %d, and %d are lost: %+v\n%s", y.Sent, c.after, y.Lost(), y.Faults, x.Append)
			}
			f := session(t, strings.Split(strings.TrimSuffix(string(repaired), "\n"), "\n")...)
			if raw, err := (Dialect{}).Context(f.Entries, core.Leaf{}); err != nil || bytes.Contains(raw, []byte("Repaired")) {
				t.Errorf("the context after the repair is %s, %v", raw, err)
			}
			if again := examine(t, repaired, c.join); len(again.Copy) > 0 || len(again.Append) > 0 {
				t.Errorf("a repaired file is repaired again: %+v\n%s", again.Faults, again.Append)
			}
		})
	}
}

// Settings are what the last line of their kind says, so an old one must not be appended.
func TestRepairBringsNoReplacedSettingsBack(t *testing.T) {
	t.Parallel()
	mode := func(m string) string {
		return `{"type":"permission-mode","permissionMode":"` + m + `","sessionId":"` + sid + `"}`
	}
	glued := mode("bypassPermissions") + prompt(200000, "u9", "a1", "more")
	for name, c := range map[string]struct {
		lines []string
		back  bool
	}{
		"replaced later": {append(turns(0, 2, ""), glued, mode("default")), false},
		"the only one":   {append(turns(0, 2, ""), glued), true},
		"replaced by it": {append(turns(0, 2, ""), mode("default"), glued), true},
	} {
		x := examine(t, dialecttest.Text(c.lines...), false)
		if got := bytes.Contains(x.Append, []byte("bypassPermissions")); got != c.back || !bytes.Contains(x.Append, []byte(`"u9"`)) {
			t.Errorf("%s: the repair is %s", name, x.Append)
		}
	}
}

func TestExamineNamesHugeFiles(t *testing.T) {
	t.Parallel()
	data := dialecttest.Text(prompt(0, "u0", "", strings.Repeat("x", largest)))
	if x := examine(t, data, false); kindsOf(x) != "too-large" || x.Sent != 1 {
		t.Errorf("%+v", x.Faults)
	}
}

// Files with as many faults as lines are examined in reasonable time.
func TestExamineIsBounded(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 5000 {
		lines = append(lines, prompt(i*7000, fmt.Sprint("u", i), fmt.Sprint("gone", i), "x"))
	}
	x := examine(t, dialecttest.Text(lines...), true)
	if y := examine(t, append(dialecttest.Text(lines...), x.Append...), false); y.Sent != 5000 {
		t.Errorf("%d messages are sent after the repair", y.Sent)
	}
}
