package core_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sesslog/sesslog/core"
)

var makeGolden = flag.Bool("make-golden", false, "write testdata/v1/chain.txt where it is not there")

// The chains of these records never change: logs are full of them.
func goldenRecords() []*core.Record {
	return []*core.Record{
		{Kind: core.KindOpen, Seq: 1, Head: "main", Writer: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Body: []byte("{\"dialect\":\"pi\"}\n" + header)},
		{Kind: core.KindClaim, Seq: 2, Head: "main", Writer: "01ARZ3NDEKTSV4RRFFQ69G5FAW", Epoch: 1, Body: []byte("{}")},
		{Kind: core.KindAppend, Seq: 3, Head: "main", Writer: "01ARZ3NDEKTSV4RRFFQ69G5FAW", Epoch: 1, Count: 1, Base: 9, Body: []byte(line("a", ""))},
		{Kind: "made-up", Seq: 4, Head: "a.b", Epoch: 1<<64 - 1, Body: []byte{0, 0xff, '\n'}},
		{Kind: core.KindClose, Seq: 5},
	}
}

func TestChainMatchesVersion1(t *testing.T) {
	const name = "testdata/v1/chain.txt"
	c := core.ChainStart("main", session)
	got := []string{c.String()}
	for _, r := range goldenRecords() {
		c = c.Next(r)
		got = append(got, c.String())
	}
	if *makeGolden {
		if err := writeNew(name, strings.Join(got, "\n")+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	for s := bufio.NewScanner(f); s.Scan(); {
		want = append(want, s.Text())
	}
	if strings.Join(want, "\n") != strings.Join(got, "\n") {
		t.Errorf("chains are\n%s\nin version 1 they were\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Close()
}

// The chain covers every field it should and no other.
func TestChainCovers(t *testing.T) {
	base := core.Record{Kind: "append", Seq: 2, Head: "main", Writer: "w", Epoch: 3, Body: []byte("x")}
	want := core.Chain{1}.Next(&base)
	for what, change := range map[string]func(*core.Record){
		"kind": func(r *core.Record) { r.Kind = "amend" }, "seq": func(r *core.Record) { r.Seq++ },
		"head": func(r *core.Record) { r.Head = "mai" }, "writer": func(r *core.Record) { r.Writer = "" },
		"epoch": func(r *core.Record) { r.Epoch = 33 }, "body": func(r *core.Record) { r.Body = nil },
		"shifted": func(r *core.Record) { r.Head, r.Writer = "mainw", "" },
	} {
		r := base
		if change(&r); want == (core.Chain{1}).Next(&r) {
			t.Errorf("the chain does not cover %s", what)
		}
	}
	r := base
	r.Base, r.Count, r.Pos = 5, 6, 7
	if want != (core.Chain{1}).Next(&r) {
		t.Error("the chain covers where the record lies")
	}
	if want == (core.Chain{2}).Next(&base) || core.ChainStart("ab", "c") == core.ChainStart("a", "bc") {
		t.Error("the chain does not cover what it begins with")
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c core.Chain
		copy(c[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "chain"))
		want := core.CursorOf(rapid.Uint64Min(1).Draw(t, "seq"), c)
		got, err := core.ParseCursor(want.String())
		if err != nil || got != want {
			t.Fatalf("%s came back as %s, %v", want, got, err)
		}
		if ch, err := core.ParseChain(c.String()); err != nil || ch != c {
			t.Fatalf("%s came back as %s, %v", c, ch, err)
		}
		d := core.Digest(c)
		if back, err := core.ParseDigest(d.String()); err != nil || back != d {
			t.Fatalf("%s came back as %s, %v", d, back, err)
		}
	})
	for _, s := range []string{"", "0"} {
		if c, err := core.ParseCursor(s); err != nil || c != (core.Cursor{}) {
			t.Errorf("%q is %v, %v", s, c, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "", "1-0123456789abcdef", "01-0123456789abcdef", "+1-0123456789abcdef", "0-0123456789abcdef", "1-0123456789ABCDEF", "1-0123456789abcde", "18446744073709551616-0123456789abcdef", "sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("A", 64), strings.Repeat("0", 64), "../../etc/passwd", "a.b.*.>", "sess ion1", "session\n1", strings.Repeat("x", 129)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := core.ParseCursor(s); err == nil && c.String() != s && s != "" {
			t.Errorf("cursor %q is written %q", s, c)
		}
		if c, err := core.ParseChain(s); err == nil && c.String() != s {
			t.Errorf("chain %q is written %q", s, c)
		}
		if d, err := core.ParseDigest(s); err == nil && d.String() != s {
			t.Errorf("digest %q is written %q", s, d)
		}
		if id, err := core.ParseSessionID(s); err == nil && strings.ContainsAny(string(id), "./\\*> \x00\n") {
			t.Errorf("session id %q is accepted", id)
		}
		id := core.SessionIDFor("pi", s)
		if _, err := core.ParseSessionID(string(id)); err != nil || id != core.SessionIDFor("pi", s) {
			t.Errorf("the session of %q is %q, %v", s, id, err)
		}
	})
}

func TestSessionIDsOfAgents(t *testing.T) {
	for agent, want := range map[string]string{"0198c0de-0000-7000-8000-000000000000": "0198c0de-0000-7000-8000-000000000000"} {
		if got := core.SessionIDFor("pi", agent); string(got) != want {
			t.Errorf("%s is %s", agent, got)
		}
	}
	if core.SessionIDFor("pi", "a b") == core.SessionIDFor("omp", "a b") {
		t.Error("sessions of two agents meet under a derived id")
	}
	if got := fmt.Sprint(core.SessionIDFor("pi", "a b")); got != "x-1b928c915fdd312c390395f90c87ae7c" {
		t.Errorf("the derived id changed: %s", got)
	}
}

func TestHeadNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"main": true, "a.b-c_D9": true, strings.Repeat("x", 64): true,
		"": false, "a b": false, "a/b": false, "ä": false, "a\x00": false, "*": false, ">": false, strings.Repeat("x", 65): false,
	} {
		if err := core.CheckHead(name); (err == nil) != ok || err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A retry may come to a node of another version.
func TestRequestDigestStaysTheSame(t *testing.T) {
	t.Parallel()
	const want = "sha256:7fa9b8daa9bb464e7c2b72b8033e16db629d4ee671bba7e42abd3c122012b6c2"
	var o core.Origin
	o.SetKey("k", "fork", core.SessionID("s"), true, core.LeafAt("a"), core.NoLeaf, core.Leaf{})
	if got := o.Request.String(); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
}
