package model_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
)

var seed = flag.Uint64("ending-seed", 0, "the first of the seeds that TestEndAtMakesAgentsContinueAtTheHead plays")

// Whatever the tree and wherever a head stands in it: the file that is written
// for the head has every line once, and an agent that reads it by its own rules
// continues there, with the same path to it.
func TestEndAtMakesAgentsContinueAtTheHead(t *testing.T) {
	t.Parallel()
	cases := uint64(4_000)
	if *long {
		cases *= 50
	}
	for _, m := range models {
		t.Run(m.dialect.Name(), func(t *testing.T) {
			t.Parallel()
			for s := *seed; s < *seed+cases; s++ {
				c := &chooser{rand: rand.New(rand.NewPCG(s, 1))}
				es := m.entries(c)
				if len(es) == 0 {
					continue
				}
				head := es[c.below(len(es))].id
				if err := m.compareEnding(es, head); err != nil {
					t.Fatalf("-ending-seed %d, head at %q:\n%v", s, head, m.shrinkEnding(es, head, err))
				}
			}
		})
	}
}

// compareEnding says what is wrong with the file for a head that points to head.
func (m *model) compareEnding(es []entry, head string) error {
	read := m.read(es)
	ordered, ok := tree.EndAt(m.dialect, read, core.LeafAt(head))
	if !ok {
		if !m.same(es, head, "") {
			return errors.New("no order has it at its end")
		}
		return nil // the agent reads nothing on the way there
	}
	file := make([]entry, len(ordered))
	left := slices.Clone(read)
	for i, e := range ordered {
		isIt := func(other core.Entry) bool { return &other.Line[0] == &e.Line[0] }
		at := slices.IndexFunc(left, isIt)
		if at < 0 {
			return fmt.Errorf("line %d is there twice or from nowhere: %s", i, e.Line)
		}
		left = slices.Delete(left, at, at+1)
		file[i] = es[slices.IndexFunc(read, isIt)]
	}
	if len(left) > 0 {
		return fmt.Errorf("%d lines are lost", len(left))
	}
	// By the model's rules and not by the dialect's.
	at := m.leaf(file)
	if !m.same(es, head, at) {
		return fmt.Errorf("the agent goes on at %q, in %q", at, m.lines(file))
	}
	equal := func(a, b entry) bool { return a.id == b.id && a.kind == b.kind }
	if got, want := path(file, at), path(es, at); !slices.EqualFunc(got, want, equal) {
		return fmt.Errorf("the path in the file is %v, want %v", got, want)
	}
	return nil
}

// same reports whether the agent continues from at as it would from
// head: as far as it reads the entries that lead there, and apart from those
// that say nothing but where it stands.
func (m *model) same(es []entry, head, at string) bool {
	if head == at {
		return true
	}
	says := func(e entry) bool { return !e.unread && (e.kind != "leaf" || m.dialect.Name() != "operator") }
	for _, e := range slices.Backward(path(es, head)) {
		if e.id == at {
			return true
		}
		if says(e) {
			return false
		}
	}
	return at == "" || !slices.ContainsFunc(path(es, at), says)
}

func (m *model) read(es []entry) []core.Entry {
	read := make([]core.Entry, len(es))
	for i, line := range m.lines(es) {
		e, err := m.dialect.Entry([]byte(line))
		if err != nil {
			panic(err)
		}
		read[i] = e
	}
	return read
}

// shrinkEnding leaves out entries as long as the file for head is wrong.
func (m *model) shrinkEnding(es []entry, head string, err error) error {
	for i := 0; i < len(es); {
		fewer := slices.Delete(slices.Clone(es), i, i+1)
		if !slices.ContainsFunc(fewer, func(e entry) bool { return e.id == head }) {
			i++
			continue
		}
		if e := m.compareEnding(fewer, head); e != nil {
			es, err, i = fewer, e, 0
			continue
		}
		i++
	}
	return errors.Join(fmt.Errorf("%q", m.lines(es)), err)
}
