package omp_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// OMP-01: directory and name of a session's file.
func TestFileName(t *testing.T) {
	t.Parallel()
	const when, id = "2026-11-20T23:05:28.536Z", "01a1fb35-2cd7-7609-8063-27dee38ec629"
	const name = "2026-11-20T23-05-28-536Z_" + id + ".jsonl"
	here := omp.Dialect{Home: "/home/u", Temp: "/tmp"}
	for _, c := range []struct {
		d        omp.Dialect
		cwd, dir string
	}{
		{omp.Dialect{}, "/home/u/my.proj", "--home-u-my.proj--"},
		{omp.Dialect{}, "/tmp/a", "--tmp-a--"},
		{omp.Dialect{}, "", "----"},
		{here, "/home/u", "-"},
		{here, "/home/u/", "-"},
		{here, "/home/u/x/y", "-x-y"},
		{here, "/home/u/my.proj", "-my.proj"},
		{here, "/home/u/a:b", "-a-b"},
		{here, "/home/user/x", "--home-user-x--"},
		{here, "/home/u/../v", "--home-v--"},
		{here, "/home/u/..v", "--home-u-..v--"},
		{here, "/tmp", "-tmp"},
		{here, "/tmp/a/b", "-tmp-a-b"},
		{here, "/tmpfiles", "--tmpfiles--"},
		{here, "", "----"},
		{omp.Dialect{Home: "/"}, "/a/b", "-a-b"},
		{omp.Dialect{Home: "/root", Temp: "/root/tmp"}, "/root/tmp/a", "-tmp-a"},
		{omp.Dialect{Home: `C:\Users\u`}, `C:\Users\u\x`, "-x"},
		{omp.Dialect{Home: `C:\Users\u`}, `C:\Users\v`, "--C--Users-v--"},
	} {
		dir, got := c.d.FileName(core.Header{ID: id, Time: when, CWD: c.cwd})
		if dir != c.dir || got != name {
			t.Errorf("%+v: %q is in %q, want %q", c.d, c.cwd, dir, c.dir)
		}
	}
}

// OMP-11, OMP-42: lines that are made here.
func TestNewLines(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	for _, c := range []struct{ name, got, want string }{
		{
			"Header", string(d.NewHeader(core.HeaderFields{ID: "i", Time: "T", CWD: "/", Parent: "p"})),
			`{"type":"session","version":3,"id":"i","timestamp":"T","cwd":"/","parentSession":"p"}`,
		},
		{"Label", string(d.NewLabel("t", "x")), `{"type":"label","targetId":"t","label":"x"}`},
		{"NoLabel", string(d.NewLabel("t", "")), `{"type":"label","targetId":"t"}`},
		{"Name", string(d.NewName("a name")), `{"type":"title_change","title":"a name","source":"user"}`},
		{"NameOnOneLine", string(d.NewName(" a\r\n\u0085b  c\x7f\t")), `{"type":"title_change","title":"a b c","source":"user"}`},
		{"NameCleared", string(d.NewName("\n")), `{"type":"title_change","title":"","source":"user"}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// OMP-11: labels, and the tree that shows them.
func TestLabels(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	es := entries(t, chain(hello, hi, then("label", "l1", `,"targetId":"u1","label":"x"`), then("label", "l2", `,"targetId":"a1","label":"y"`), then("label", "l3", `,"targetId":"a1"`))...)
	h, _ := d.Header([]byte(header))
	info, err := d.Info(h, es, core.Leaf{})
	if got := fmt.Sprint(info.Labels); got != "map[u1:x]" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	rows := d.Tree(es)
	if rows[0].Label == nil || *rows[0].Label != "x" || rows[0].LabelTimestamp != nil || rows[1].Label != nil || rows[4].Depth != 4 {
		t.Errorf("%+v", rows)
	}
}

// OMP-41: what a listing shows.
func TestSummary(t *testing.T) {
	t.Parallel()
	const usage = `"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"total":0.5}}`
	d := omp.Dialect{}
	h, _ := d.Header([]byte(header))
	es := entries(t, chain(
		stored("a", `{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`),
		stored("b", `{"role":"assistant","content":[],"timestamp":1767323099000,`+usage+`}`),
		then("model_usage", "c", `,"purpose":"title",`+usage),
		then("compaction", "d", `,"summary":"S","shortSummary":"short"`),
		then("usage", "e", ","+usage),
	)...)
	want := display.Summary{
		Name: "short", First: "one two", Messages: 2, Created: "2026-01-02T03:04:05.000Z", Modified: "2026-01-02T03:04:59.000Z",
		Usage: item.Usage{Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8, Cost: 1},
	}
	if diff := cmp.Diff(want, d.Summary(h, es)); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownLeaf(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	es := entries(t, slot("S", "", early), hello)
	h, _ := d.Header([]byte(header))
	for _, id := range []string{"gone", "", h.ID} {
		_, pathErr := d.Path(es, core.LeafAt(id))
		_, contextErr := d.Context(es, core.LeafAt(id))
		_, infoErr := d.Info(h, es, core.LeafAt(id))
		for _, err := range []error{pathErr, contextErr, infoErr} {
			if !errors.Is(err, core.ErrNotFound) {
				t.Errorf("leaf %q: %v", id, err)
			}
		}
	}
}

// OMP-02, OMP-05, OMP-12, OMP-14: what only omp has of a session.
func TestOwn(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	h, err := d.Header([]byte(strings.TrimSuffix(header, "}") + `,"titleSource":"auto","additionalDirectories":["/x"]}`))
	if err != nil {
		t.Fatal(err)
	}
	es := entries(t, append([]string{slot("S", "user", early)}, chain(
		then("model_change", "m", `,"model":"p/q","role":"smol"`), then("ttsr_injection", "i", `,"injectedRules":["r"]`), then("mode_change", "p", `,"mode":"plan","data":{"f":1}`),
	)...)...)
	const (
		title = `{"titleSource":"user","titleSlot":{"title":"S","source":"user","updatedAt":"` + early + `"},"additionalDirectories":["/x"],"thinkingLevel":"off",`
		plain = `{"titleSource":"auto","titleSlot":null,"additionalDirectories":["/x"],"thinkingLevel":"off",`
	)
	for _, c := range []struct {
		es   []core.Entry
		leaf core.Leaf
		want string
	}{
		{es, core.Leaf{}, title + `"models":{"smol":"p/q"},"injectedTtsrRules":["r"],"mode":"plan","modeData":{"f":1}}`},
		{es, core.LeafAt("m"), title + `"models":{"smol":"p/q"},"injectedTtsrRules":[],"mode":"none"}`},
		{nil, core.Leaf{}, plain + `"models":{},"injectedTtsrRules":[],"mode":"none"}`},
	} {
		info, err := d.Info(h, c.es, c.leaf)
		if err != nil || string(info.Own) != c.want {
			t.Errorf("%v: %s, %v", c.leaf, info.Own, err)
		}
	}
}
