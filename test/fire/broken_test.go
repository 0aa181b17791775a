package fire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sesslog/sesslog/core"
)

// These tests show that the checker detects violations: minimal histories of broken logs,
// each next to the one that a correct log would give.

// at orders ops: each is called after the one before has returned.
func at(ops ...op) []op {
	for i := range ops {
		o := &ops[i]
		o.Call, o.Return = time.Duration(10*i+10), time.Duration(10*i+15)
		if o.Result == "" {
			o.Result = done
		}
	}
	return ops
}

func appends(id string) op { return op{Kind: opAppend, IDs: []string{id}} }

func reads(ids ...string) op {
	return op{Kind: opEntries, Saw: view{Lines: state{}.appended(0, ids).lines}}
}

func (o op) as(writer string) op      { o.Writer = writer; return o }
func (o op) with(result string) op    { o.Result = result; return o }
func (o op) expecting(leaf string) op { o.After, o.Leaf = true, leaf; return o }
func (o op) maybeOld() op             { o.Stale = true; return o }

func claims(writer string, epoch uint64, former string) op {
	return op{Kind: opClaim, Writer: writer, TakeOver: former != "", Epoch: epoch, Former: former}
}

func TestCheckerDetectsBrokenHistories(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ good, bad []op }{
		"an acknowledged append is lost": {
			good: at(appends("a"), appends("b"), reads("a", "b")),
			bad:  at(appends("a"), appends("b"), reads("a")),
		},
		"an append is stored twice": {
			good: at(appends("a"), reads("a")),
			bad:  at(appends("a"), reads("a", "a")),
		},
		"two succeed at one place": {
			good: at(appends("a"), appends("b").expecting("a"), appends("c").expecting("a").with(conflict), reads("a", "b")),
			bad:  at(appends("a"), appends("b").expecting("a"), appends("c").expecting("a"), reads("a", "b", "c")),
		},
		"two hold one head": {
			good: at(claims("w1", 1, ""), claims("w2", 2, "").with(fenced)),
			bad:  at(claims("w1", 1, ""), claims("w2", 2, "")),
		},
		"a fenced writer writes": {
			good: at(claims("w1", 1, ""), claims("w2", 2, "w1"), appends("a").as("w1").with(fenced), reads()),
			bad:  at(claims("w1", 1, ""), claims("w2", 2, "w1"), appends("a").as("w1"), reads("a")),
		},
		"a writer is fenced without a claim": {
			good: at(claims("w1", 1, ""), appends("a").as("w1")),
			bad:  at(claims("w1", 1, ""), appends("a").as("w1").with(fenced)),
		},
		"a conflict where nothing moved": {
			good: at(appends("a"), appends("b").expecting("a")),
			bad:  at(appends("a"), appends("b").expecting("a").with(conflict)),
		},
		"a read goes back": {
			good: at(appends("a"), reads("a"), appends("b"), reads("a", "b")),
			bad:  at(appends("a"), appends("b"), reads("a", "b"), reads("a")),
		},
		"the order is not that of the answers": {
			good: at(appends("a"), appends("b"), reads("a", "b")),
			bad:  at(appends("a"), appends("b"), op{Kind: opEntries, Saw: view{Lines: "b< a<b "}}),
		},
		"an append that said that it stored nothing": {
			good: at(appends("a"), appends("b").with(refused), reads("a")),
			bad:  at(appends("a"), appends("b").with(refused), reads("a", "b")),
		},
		"the epoch stands still": {
			good: at(claims("w1", 1, ""), claims("w2", 2, "w1")),
			bad:  at(claims("w1", 1, ""), claims("w2", 1, "w1")),
		},
		"half a turn is seen": {
			good: at(op{Kind: opAppend, IDs: []string{"a", "b"}}, reads("a", "b")),
			bad:  at(op{Kind: opAppend, IDs: []string{"a", "b"}}, reads("a")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := linear(c.good, checkTime); got != porcupine.Ok {
				t.Errorf("what a good log gives is %s:\n%s", got, listed(c.good))
			}
			if got := linear(c.bad, checkTime); got != porcupine.Illegal {
				t.Errorf("it is %s:\n%s", got, listed(c.bad))
			}
		})
	}
}

// An op without an answer may have happened, at any later time, or never.
func TestUnansweredOpMayHaveHappened(t *testing.T) {
	t.Parallel()
	lost := appends("b").with(unknown)
	stored := lost
	stored.Stored = true
	for name, c := range map[string]struct {
		ops  []op
		want porcupine.CheckResult
	}{
		"never":              {at(appends("a"), lost, reads("a")), porcupine.Ok},
		"at once":            {at(appends("a"), stored, reads("a", "b")), porcupine.Ok},
		"later":              {at(appends("a"), stored, reads("a"), reads("a", "b")), porcupine.Ok},
		"before it was sent": {at(appends("a"), reads("a", "b"), stored), porcupine.Illegal},
		"and then not":       {at(appends("a"), stored, reads("a", "b"), reads("a")), porcupine.Illegal},
	} {
		if got := linear(c.ops, checkTime); got != c.want {
			t.Errorf("%s: it is %s, want %s", name, got, c.want)
		}
	}
}

// An answer from a server without a quorum may be old, but must have been true. A strict
// read must not be old.
func TestOldAnswerMustHaveBeenTrue(t *testing.T) {
	t.Parallel()
	was := []state{{}, state{}.appended(0, []string{"a"}), state{}.appended(0, []string{"a", "b"})}
	old := at(appends("a"), appends("b"), reads("a").maybeOld())
	if got := linear(old, checkTime); got != porcupine.Ok {
		t.Errorf("an old answer is %s", got)
	}
	if wrong := wasOnce(old, was); len(wrong) > 0 {
		t.Errorf("an old answer is said never to have been true: %v", wrong)
	}
	if got := linear(at(appends("a"), appends("b"), reads("a")), checkTime); got != porcupine.Illegal {
		t.Errorf("an old answer to a strict read is %s", got)
	}
	for _, made := range []op{reads("b"), reads("a", "b", "c"), appends("c").as("w1").expecting("a").with(conflict)} {
		if wrong := wasOnce(at(made.maybeOld()), was); len(wrong) != 1 {
			t.Errorf("an answer that was never true passes: %v", made)
		}
	}
	written := at(claims("w1", 1, ""), claims("w2", 2, "w1"), appends("a").as("w1").maybeOld(), reads("a"))
	if got := linear(written, checkTime); got != porcupine.Illegal {
		t.Errorf("a write by a fenced writer is excused as old: %s", got)
	}
}

// file is an exported session.
func file(lines string) []byte {
	var b strings.Builder
	b.WriteString("{\"type\":\"session\"}\n")
	for line := range strings.FieldsSeq(lines) {
		id, parent, _ := strings.Cut(line, "<")
		fmt.Fprintf(&b, "{\"id\":%q,\"parentId\":%q}\n", id, parent)
	}
	return []byte(b.String())
}

func TestInspectionDetectsBrokenFiles(t *testing.T) {
	t.Parallel()
	acked := [][]string{{"a", "c"}, {"b"}}
	turn := []op{{Kind: opAppend, IDs: []string{"c", "d"}}}
	good := file("a< b<a c<b d<c")
	for name, c := range map[string]struct {
		files [][]byte
		want  damage
	}{
		"nothing":           {[][]byte{good, good}, damage{}},
		"a lost entry":      {[][]byte{file("a< c<a d<c"), file("a< c<a d<c")}, damage{lost: 1}},
		"an entry twice":    {[][]byte{file("a< b<a c<b c<b d<c")}, damage{duplicated: 1}},
		"another order":     {[][]byte{file("c< d<c a<c b<a")}, damage{reordered: 1}},
		"a dangling parent": {[][]byte{file("a< b<x c<b d<c")}, damage{dangling: 1}},
		"half a turn":       {[][]byte{file("a< b<a c<b")}, damage{halved: 1}},
		"nodes that differ": {[][]byte{good, file("a< b<a d<b c<d")}, damage{differing: 1}},
		"lost on one node":  {[][]byte{good, file("a< b<a d<b")}, damage{differing: 1, lost: 1, halved: 1}},
	} {
		got := inspect(acked, turn, ending{files: c.files})
		got.acked, got.notes = 0, nil
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestInspectionDetectsTrespassingWriters(t *testing.T) {
	t.Parallel()
	claim := func(seq, epoch uint64, writer string) record {
		return record{kind: core.KindClaim, head: "main", seq: seq, epoch: epoch, writer: writer}
	}
	write := func(seq uint64, writer string) record {
		return record{kind: core.KindAppend, head: "main", seq: seq, writer: writer}
	}
	release := record{kind: core.KindRelease, head: "main", seq: 2, epoch: 1, writer: "w1"}
	for name, c := range map[string]struct {
		records    []record
		trespassed int
		gaps       int
	}{
		"its holder":                  {[]record{claim(1, 1, "w1"), write(2, "w1")}, 0, 0},
		"anybody, where it is free":   {[]record{write(1, "x"), claim(2, 1, "w1")}, 0, 0},
		"a writer that was fenced":    {[]record{claim(1, 1, "w1"), claim(2, 2, "w2"), write(3, "w1")}, 1, 0},
		"a writer without a claim":    {[]record{claim(1, 1, "w1"), write(2, "x")}, 1, 0},
		"a writer that has released":  {[]record{claim(1, 1, "w1"), release, write(3, "w1")}, 1, 0},
		"a claim that is not counted": {[]record{claim(1, 1, "w1"), claim(2, 1, "w2")}, 0, 1},
		"a record that is missing":    {[]record{write(1, "x"), write(3, "x")}, 0, 1},
	} {
		d := inspect(nil, nil, ending{records: c.records, last: uint64(len(c.records))})
		if d.trespassed != c.trespassed || d.gaps != c.gaps {
			t.Errorf("%s: %d trespassed, %d gaps, want %d, %d", name, d.trespassed, d.gaps, c.trespassed, c.gaps)
		}
	}
	if d := inspect(nil, nil, ending{records: []record{write(1, "x")}, last: 2}); d.gaps != 1 {
		t.Error("a tail that is not shown is not seen")
	}
}
