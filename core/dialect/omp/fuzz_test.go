package omp_test

import (
	"bytes"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/omp"
)

// seeds are files in which something is odd.
var seeds = [][]byte{
	text(slot("S", "user", "2026-01-02T03:04:05.000Z"), header, hello, hi),
	text(header, hello, hi, renamed("N", "auto", "2026-01-02T03:04:09.000Z"), slot("S", "", "x")),
	text("junk", "", header, hello+hi, "{\n\"id\":\n\"x\"}", "null", hi)[:400],
	text(`{"type":"session","id":"s"}`, `{"type":"message","message":{"role":"hookMessage"}}`, `{"type":"compaction","firstKeptEntryIndex":1}`),
	text(header, then("compaction", "k", `,"preserveData":{"anthropicCompaction":{"provider":"p","content":"c"}},"firstKeptEntryId":""`), `{}`, header),
	text(header, then("custom", "n", `,"customType":"experimental_context_notes","data":{"version":1,"text":"t"}`), then("reset_boundary", "r", "")),
	text(header, stored("a", `{"role":"assistant","stopReason":"error","content":[{"type":"toolCall","id":1},{"type":"thinking","thinkingSignature":"s"}]}`)),
	text(header, then("mode_change", "m", `,"mode":"plan","data":{"jsonlEvents":1}`), then("ttsr_injection", "t", `,"injectedRules":[1,1.0,"x"]`)),
	[]byte("\ufeff" + header + "\r\n\xff\n\u2028\n{\"id\":\"\xe2\x82\"}"),
}

// FuzzFile holds that no file makes the dialect fail in another way than it
// promises, and what it promises of those it reads.
func FuzzFile(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		d := omp.Dialect{}
		d.Detect(data)
		file, err := d.File(data)
		if err != nil {
			return
		}
		whole := laidOut(file.Header, file.Entries)
		if file.Exact && whole != string(data) {
			t.Fatalf("exact, laid out %q", whole)
		}
		again, err := d.File([]byte(whole))
		if err != nil || laidOut(again.Header, again.Entries) != whole {
			t.Fatalf("%q cannot be read again: %v", whole, err)
		}
		holdTogether(t, file)
	})
}

// holdTogether checks what is true of every session.
func holdTogether(t *testing.T, f *core.File) {
	t.Helper()
	d := omp.Dialect{}
	if len(f.Lines) != len(f.Entries) {
		t.Fatalf("%d lines for %d entries", len(f.Lines), len(f.Entries))
	}
	leaf := d.Leaf(f.Entries)
	info, err := d.Info(f.Header, f.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	own, err := d.Entry(info.Own)
	if err != nil || own.ID != "" {
		t.Fatalf("own %s: %v", info.Own, err)
	}
	rows := d.Tree(f.Entries)
	if len(rows) < info.EntryCount {
		t.Fatalf("%d rows of %d entries", len(rows), info.EntryCount)
	}
	path, err := d.Path(f.Entries, leaf)
	if err != nil || len(path) > info.EntryCount {
		t.Fatalf("path of %d entries, %v", len(path), err)
	}
	context, err := d.Context(f.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := d.Entry(context); err != nil || e.ID != "" {
		t.Fatalf("context %s: %v", context, err)
	}
	d.Summary(f.Header, f.Entries)
	d.Keeps(f.Entries)
	for _, e := range f.Entries {
		once := d.AsWritten(e.Line)
		if twice := d.AsWritten(once); !bytes.Equal(once, twice) {
			t.Fatalf("%q is written %q, that %q", e.Line, once, twice)
		}
		if again, err := d.Entry(once); err != nil || again.ID != e.ID {
			t.Fatalf("%q is written %q: %v", e.Line, once, err)
		}
	}
}

// FuzzContext holds that the context of any message behind any compaction is
// JSON.
func FuzzContext(f *testing.F) {
	f.Add([]byte(`{"role":"assistant","content":[{"type":"toolCall","id":"1"}]}`), []byte(`{"openaiRemoteCompaction":{"provider":"p","replacementHistory":[{}]}}`))
	f.Add([]byte(`{"role":"user","content":null}`), []byte(`{"anthropicCompaction":{"provider":"p","content":"c"}}`))
	f.Add([]byte(`{"role":"assistant","stopReason":"error","content":"\ud800","1":1e400}`), []byte(`{"snapcompact":{"textHead":"h","frames":[{"data":"d","mimeType":"m","cols":1,"rows":1,"chars":1}]}}`))
	f.Add([]byte(`"text"`), []byte(`5`))
	f.Fuzz(func(t *testing.T, message, preserved []byte) {
		d := omp.Dialect{}
		var es []core.Entry
		for _, line := range chain(hello, hi) {
			es = append(es, entries(t, line)...)
		}
		for _, line := range []string{
			then("compaction", "k", `,"firstKeptEntryId":"a1","preserveData":`+string(preserved)),
			stored("m", string(message)), stored("n", string(message)),
		} {
			e, err := d.Entry([]byte(line))
			if err != nil {
				return
			}
			e.Parent = es[len(es)-1].ID
			es = append(es, e)
		}
		context, err := d.Context(es, core.Leaf{})
		if err != nil {
			t.Fatal(err)
		}
		if e, err := d.Entry(context); err != nil || e.ID != "" {
			t.Fatalf("context %q: %v", context, err)
		}
	})
}
