package claude

import (
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
)

// long is a main file with that many turns of six lines.
func long(turns int) []byte {
	var lines []string
	parent := ""
	for i := range turns {
		id := func(s string) string { return fmt.Sprintf("%s%06d", s, i) }
		lines = append(lines, prompt(i*10, id("u"), parent, "question"),
			answer(i*10+1, id("a"), id("u"), id("m"), call(id("t"))), answer(i*10+2, id("b"), id("a"), id("m"), call(id("s"))),
			result(i*10+3, id("r"), id("a"), id("t")), result(i*10+4, id("q"), id("b"), id("s")),
			answer(i*10+5, id("e"), id("q"), id("n"), words("done")), leafLine(id("e")))
		parent = id("e")
	}
	return dialecttest.Text(lines...)
}

func BenchmarkContextOf50000Lines(b *testing.B) {
	data := long(50_000 / 7)
	for b.Loop() {
		f, err := Dialect{}.File(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (Dialect{}).Context(f.Entries, core.Leaf{}); err != nil {
			b.Fatal(err)
		}
	}
}

// Work is proportional to what a file holds, whatever it holds.
func TestHostileShapesAreLinear(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var prompts, orphans, forks []string
	for i := range n {
		id, up := fmt.Sprint("u", i), fmt.Sprint("u", i-1)
		if i == 0 {
			up = ""
		}
		prompts = append(prompts, prompt(i, id, up, "x"))
		orphans = append(orphans, prompt(i, id, "gone", "x"))
		forks = append(forks, answer(i, id, "u0", "m", call(id)), leafLine(id))
	}
	for _, lines := range [][]string{prompts, orphans, forks} {
		f, err := Dialect{}.File(dialecttest.Text(lines...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Dialect{}).Context(f.Entries, core.Leaf{}); err != nil {
			t.Error(err)
		}
		_ = Dialect{}.Tree(f.Entries)
		_ = Dialect{}.Summary(f.Header, f.Entries)
	}
}
