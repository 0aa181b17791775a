package codex_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core/dialect/codex"
	"github.com/sesslog/sesslog/core/optional"
)

const paginated = `,"history_mode":"paginated"`

func TestExamineFindsWhyResumeLosesItems(t *testing.T) {
	t.Parallel()
	main, forked := fileName(1, parent), fileName(9, child)
	base := func() *script { return rollout(parent, paginated).says("user", "one").says("assistant", "two") }
	// fork continues all of the parent.
	fork := func(end string) string {
		b := base()
		more := strings.Replace(b.based(parent), `"end_byte_offset":`, `"end_byte_offset":`+end, 1)
		return rolloutFrom(b.ordinal, child, paginated+more).says("user", "three").text()
	}
	line := func(text string) string {
		return rollout(parent, "").says("user", text).text()[len(rollout(parent, "").text()):]
	}
	for name, c := range map[string]struct {
		main        string
		files       map[string]string
		faults      string
		sent, after int
	}{
		"whole":         {main: main, files: map[string]string{main: base().text()}, sent: 2, after: 2},
		"fork":          {main: forked, files: map[string]string{main: base().text(), forked: fork("")}, sent: 3, after: 3},
		"base is gone":  {main: forked, files: map[string]string{forked: fork("")}, faults: "missing-base", sent: 0, after: 1},
		"base is short": {main: forked, files: map[string]string{main: rollout(parent, paginated).says("user", "one").text(), forked: fork("")}, faults: "missing-base", sent: 0, after: 1},
		"base was changed": {
			main: forked, files: map[string]string{main: strings.Replace(base().text(), `"one"`, `"one  more"`, 1), forked: fork("")}, faults: "missing-base", sent: 2, after: 2,
		},
		"tail is cut": {main: main, files: map[string]string{main: base().raw(`{"timestamp":"2026`).text()}, faults: "truncated-tail", sent: 2, after: 2},
		"garbage":     {main: main, files: map[string]string{main: base().raw("garbage\n").says("user", "more").text()}, faults: "bad-line", sent: 3, after: 3},
		"glued lines": {
			main: main, files: map[string]string{main: base().raw(`{"timestamp":"cut`+strings.TrimSuffix(line("a"), "\n")+line("b")).says("user", "more").text()},
			faults: "glued-lines", sent: 3, after: 5,
		},
		"the last line has no number": {main: main, files: map[string]string{main: base().text() + strings.Replace(line("a"), `"ordinal":1,`, "", 1)}, faults: "bad-ordinal", sent: 0, after: 3},
		"two writers":                 {main: main, files: map[string]string{main: base().text() + line("a")}, faults: "bad-ordinal", sent: 3, after: 3},
		"compaction": {
			main: main, files: map[string]string{main: base().line("compacted", `{"message":"m","replacement_history":[{"type":"message","role":"user","content":[]}]}`).says("user", "more").text()}, sent: 1, after: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{}
			for path, text := range c.files {
				files[path] = []byte(text)
			}
			x, err := optional.Examine(codex.Dialect{}, c.main, files, false)
			var kinds []string
			for _, f := range x.Faults {
				kinds = append(kinds, string(f.Kind))
			}
			if err != nil || strings.Join(slices.Compact(kinds), " ") != c.faults || x.Sent != c.sent || x.File != c.main {
				t.Errorf("%v: %+v", err, x)
			}
			data := append(bytes.Clone(files[c.main]), x.Append...)
			if x.Copy != nil {
				data = x.Copy
			}
			files[c.main] = data
			if y, err := optional.Examine(codex.Dialect{}, c.main, files, false); err != nil || y.Sent != c.after {
				t.Errorf("after the repair: %v: %+v", err, y)
			}
		})
	}
}
