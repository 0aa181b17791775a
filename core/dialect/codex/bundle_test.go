package codex_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/codex"
)

func TestForkHasItsParentUpToWhereItContinues(t *testing.T) {
	t.Parallel()
	begin := rollout(parent, "").says("user", "a").says("assistant", "b")
	base := begin.based(parent)
	fork := rolloutFrom(begin.ordinal, child, `,"forked_from_id":"`+parent+`"`+base).says("user", "c")
	upTo := begin.text()
	begin.says("user", "later")
	files := []bundle.File{named(fileName(1, parent), begin.text()), named(fileName(2, child), fork.text())}
	all := bundled(t, files)
	if got := contents(t, all[parent], core.Leaf{}); got != "a b later" {
		t.Errorf("the parent's context is %q", got)
	}
	f := all[child]
	if got := contents(t, f, core.Leaf{}); got != "a b c" {
		t.Errorf("the fork's context is %q", got)
	}
	if got := restored(t, f); got[fileName(1, parent)] != upTo || got[fileName(2, child)] != fork.text() || len(got) != 2 {
		t.Errorf("the files are %q", slices.Collect(maps.Keys(got)))
	}
	if !slices.Equal(f.Header.Parents, []string{parent}) || f.Header.Lineage != "fork" {
		t.Errorf("parents %v, %q", f.Header.Parents, f.Header.Lineage)
	}
	if s := (codex.Dialect{}).Summary(f.Header, f.Entries); s.First != "a" || s.Messages != 3 {
		t.Errorf("summary %+v", s)
	}
}

func TestForkOfAForkHasAllItContinues(t *testing.T) {
	t.Parallel()
	one := rollout(parent, "").says("user", "a").says("user", "x")
	two := rolloutFrom(one.ordinal, child, one.based(parent)).says("user", "b").says("user", "c")
	three := rolloutFrom(two.ordinal, agent, two.based(child)).says("user", "d")
	two.says("user", "later")
	f := bundled(t, []bundle.File{
		named(fileName(3, agent), three.text()), named(fileName(1, parent), one.text()), named(fileName(2, child), two.text()),
	})[agent]
	if got := contents(t, f, core.Leaf{}); got != "a x b c d" {
		t.Errorf("the context is %q", got)
	}
	if got := restored(t, f); len(got) != 3 || strings.Contains(got[fileName(2, child)], "later") {
		t.Errorf("the files are %q", got)
	}
}

// A fork of a reverted thread, and a later revert, name the file that they continue by
// the id of its rollout.
func TestRevertedFileIsContinuedByItsRollout(t *testing.T) {
	t.Parallel()
	const third = "019c0000-0000-7000-8000-0000000000ff"
	one := rollout(parent, "").says("user", "a").says("user", "b")
	two := rolloutFrom(one.ordinal, parent, one.based(parent)).says("user", "c").says("user", "d")
	toTwo := two.based(second)
	two.says("user", "e")
	three := rolloutFrom(two.ordinal, parent, toTwo).says("user", "f")
	fork := rolloutFrom(two.ordinal, child, `,"forked_from_id":"`+parent+`"`+toTwo).says("user", "g")
	all := bundled(t, []bundle.File{
		named(fileName(1, parent), one.text()), named(fileName(2, parent+"_"+second), two.text()),
		named(fileName(3, parent+"_"+third), three.text()), named(fileName(4, child), fork.text()),
	})
	if got := contents(t, all[parent], core.Leaf{}); got != "a b c d f" {
		t.Errorf("the context is %q", got)
	}
	if got := contents(t, all[child], core.Leaf{}); got != "a b c d g" {
		t.Errorf("the fork's context is %q", got)
	}
	if got := restored(t, all[child]); len(got) != 3 || strings.Contains(got[fileName(2, parent+"_"+second)], `"e"`) {
		t.Errorf("the files of the fork are %q", slices.Collect(maps.Keys(got)))
	}
}

// A thread that was reverted twice, the second time to before the first.
func TestRevertContinuesInTheNewestFile(t *testing.T) {
	t.Parallel()
	one := rollout(parent, "").says("user", "a")
	toA := one.based(parent)
	atA := one.ordinal
	one.says("user", "b")
	toB, atB := one.based(parent), one.ordinal
	one.says("user", "c")
	two := rolloutFrom(atB, parent, toB).says("user", "d")
	toD, atD := two.based(parent), two.ordinal
	two.says("user", "e")
	for name, c := range map[string]struct {
		at       int
		base     string
		want     string
		inSecond bool
	}{
		"to a line of the first file":  {atA, toA, "a f", false},
		"to a line of the second file": {atD, toD, "a b d f", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			three := rolloutFrom(c.at, parent, c.base).says("user", "f")
			files := []bundle.File{
				named(fileName(1, parent), one.text()), named(fileName(1, parent+"_"+second), two.text()),
				named(fileName(3, parent+"_"+second), three.text()),
			}
			f := bundled(t, files)[parent]
			if got := contents(t, f, core.Leaf{}); got != c.want {
				t.Errorf("the context is %q, want %q", got, c.want)
			}
			got := restored(t, f)
			for _, file := range files {
				if got[file.Path] != string(file.Data) {
					t.Errorf("%s is not restored", file.Path)
				}
			}
			// The lines that were taken back are still there.
			before := bundled(t, files[:1])[parent]
			last := before.Entries[len(before.Entries)-1].ID
			if got := contents(t, f, core.LeafAt(last)); got != "a b c" {
				t.Errorf("the context before the revert is %q", got)
			}
		})
	}
}

func TestHistoryBeginsWithItsOwnLinesIfTheBaseIsMissing(t *testing.T) {
	t.Parallel()
	base := rollout(parent, "").says("user", "a")
	fork := rolloutFrom(base.ordinal, child, base.based(parent)).says("user", "b")
	f := bundled(t, []bundle.File{named(fileName(2, child), fork.text())})[child]
	if got := contents(t, f, core.Leaf{}); got != "b" {
		t.Errorf("the context is %q", got)
	}
	self := rollout(child, `,"history_base":{"thread_id":"`+child+`","end_ordinal_exclusive":9,"end_byte_offset":10}`).says("user", "c")
	f = bundled(t, []bundle.File{named(fileName(2, child), self.text())})[child]
	if got := contents(t, f, core.Leaf{}); got != "c" {
		t.Errorf("the context of a file that continues itself is %q", got)
	}
}

func TestSubagentBelongsToTheSessionThatStartedIt(t *testing.T) {
	t.Parallel()
	main := rollout(parent, "").says("user", "a")
	helper := rollout(agent, `,"parent_thread_id":"`+parent+`"`).says("user", "count")
	inner := rollout(child, `,"parent_thread_id":"`+agent+`"`).says("user", "deeper")
	files := []bundle.File{
		named(fileName(1, parent), main.text()), named(fileName(2, agent), helper.text()), named(fileName(3, child), inner.text()),
	}
	all := bundled(t, files)
	if len(all) != 1 {
		t.Fatalf("there are %d sessions", len(all))
	}
	f := all[parent]
	if got := contents(t, f, core.Leaf{}); got != "a" {
		t.Errorf("the context is %q", got)
	}
	if got := restored(t, f); len(got) != 3 || got[fileName(3, child)] != inner.text() {
		t.Errorf("the files are %q", got)
	}
	f = bundled(t, files[1:2])[agent]
	if f == nil || f.Header.Lineage != "subagent" || !slices.Equal(f.Header.Parents, []string{parent}) {
		t.Errorf("without its starter the session is %+v", f)
	}
}

func TestCompressedRollout(t *testing.T) {
	t.Parallel()
	text := rollout(parent, "").says("user", strings.Repeat("long ", 1000)).says("user", "b").text()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := e.EncodeAll([]byte(text), nil)
	f := bundled(t, []bundle.File{{Path: fileName(1, parent) + ".zst", Data: packed}})[parent]
	if got := restored(t, f); got[fileName(1, parent)] != text {
		t.Errorf("the files are %q", got)
	}
	if d := (codex.Dialect{}); !d.Detect(packed) {
		t.Error("it is not detected")
	}
	if f := read(t, string(packed)); len(f.Entries) != 3 {
		t.Errorf("%d entries", len(f.Entries))
	}
	_, err = codex.Dialect{}.File(packed[:len(packed)/2])
	if !errors.Is(err, core.ErrInvalid) {
		t.Errorf("half of it gives %v", err)
	}
	both := bundled(t, []bundle.File{{Path: fileName(1, parent) + ".zst", Data: packed}, named(fileName(1, parent), text)})
	if len(both) != 1 || len(both[parent].Entries) != 3 {
		t.Error("a rollout that is there in both forms is read twice")
	}
}

func TestGrownFilesKeepTheirEntries(t *testing.T) {
	t.Parallel()
	s := rollout(parent, "").says("user", "a").raw("garbage\n").says("user", "a").says("user", "b")
	text := s.text()
	revert := rolloutFrom(2, parent, `,"history_base":{"thread_id":"`+parent+`","end_ordinal_exclusive":2,"end_byte_offset":`+
		itoa(strings.Index(text, "garbage"))+`}`).says("user", "c").text()
	var es []core.Entry // of all imports
	have := map[string]bool{}
	for cut := strings.IndexByte(text, '\n') + 1; cut < len(text)+len(revert)+7; cut += 7 {
		cut := min(cut, len(text)+len(revert))
		files := []bundle.File{named(fileName(1, parent), text[:min(cut, len(text))])}
		if cut > len(text)+strings.IndexByte(revert, '\n') {
			files = append(files, named(fileName(2, parent+"_"+second), revert[:cut-len(text)]))
		}
		f := bundled(t, files)[parent]
		for _, e := range f.Entries {
			if !have[e.ID] {
				es = append(es, e)
			}
			have[e.ID] = true
		}
		f.Entries = es
		got := restored(t, f)
		for _, file := range files {
			// The newline of a line that was complete without it comes with the next
			// line, and half a line with its other half.
			whole := strings.TrimSuffix(string(file.Data[:bytes.LastIndexByte(file.Data, '\n')+1]), "\n")
			if !strings.HasPrefix(got[file.Path], whole) || !strings.HasPrefix(string(file.Data), got[file.Path]) {
				t.Fatalf("after %d bytes %s is restored as %q", cut, file.Path, got[file.Path])
			}
		}
	}
	if got := contents(t, &core.File{Entries: es}, core.Leaf{}); got != "a c" {
		t.Errorf("the context is %q", got)
	}
}

func TestPackRefusesWhatIsNoRollout(t *testing.T) {
	t.Parallel()
	d := codex.Dialect{}
	for name, files := range map[string][]bundle.File{
		"nothing":      nil,
		"other name":   {named("sessions/2026/03/04/notes.jsonl", rollout(parent, "").text())},
		"other lines":  {named(fileName(1, parent), `{"type":"session","id":"x"}`+"\n")},
		"empty":        {named(fileName(1, parent), "")},
		"without id":   {named(fileName(1, parent), `{"type":"session_meta","payload":{}}`+"\n")},
		"long id":      {named(fileName(1, parent), `{"type":"session_meta","payload":{"id":"`+strings.Repeat("x", 999)+`"}}`+"\n")},
		"noise":        {named(fileName(1, parent), rollout(parent, "").text()+strings.Repeat("\n", 1<<17))},
		"corrupt base": {named(fileName(1, parent), rollout(parent, `,"history_base":{"thread_id":"x","end_byte_offset":-1}`).text())},
	} {
		main := ""
		if len(files) > 0 {
			main = files[0].Path
		}
		if _, err := d.Pack(main, files); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesStayBelowTheHome(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../../x", "a/b", "..", "a\\b", strings.Repeat("y", 120), "a:b", "\x00"} {
		f := bundled(t, []bundle.File{named(fileName(1, parent), rollout(strings.ReplaceAll(strings.ReplaceAll(id, "\\", "\\\\"), "\x00", "\\u0000"), "").says("user", "a").text())})
		for _, s := range f {
			restored(t, s)
			dir, name := codex.Dialect{}.FileName(s.Header)
			if err := bundle.CheckPath("sessions/" + dir + "/" + name); err != nil {
				t.Error(err)
			}
		}
	}
}
