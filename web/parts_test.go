package web

import (
	"net/url"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core/lineage"
)

// The parts of any path join without a gap, and each is loaded after a few divisions.
func TestPartsCoverAPathOfAnyLength(t *testing.T) {
	t.Parallel()
	for _, total := range []int{0, 1, chunkSize, chunkSize + 1, 9_999, 10_001, 999_999, 2_500_000, 1_000_000_000} {
		for from, to, deep := 0, total, 0; to > from; deep++ {
			list := parts(url.Values{}, from, to)
			at := from
			for _, p := range list {
				if p.From != at || p.To <= p.From {
					t.Fatalf("of %d entries, a part is %d to %d after %d", total, p.From, p.To, at)
				}
				at = p.To
			}
			if at != to || len(list) > maxParts || deep > 5 {
				t.Fatalf("%d parts of %d to %d end at %d, after %d divisions", len(list), from, to, at, deep)
			}
			middle := list[len(list)/2]
			if middle.To-middle.From <= chunkSize {
				break
			}
			from, to = middle.From, middle.To
		}
	}
}

func TestFamilyListsParentsFirst(t *testing.T) {
	t.Parallel()
	nodes := []lineage.Node{{ID: "child"}, {ID: "root"}, {ID: "loop-a"}, {ID: "loop-b"}}
	nodes[0].Parents = []lineage.Parent{{Session: "root", Kind: "fork", Entry: "e1"}}
	edges := []lineage.Edge{{Producer: "root", Consumer: "child", Kind: "fork"}, {Producer: "loop-a", Consumer: "loop-b"}, {Producer: "loop-b", Consumer: "loop-a"}}
	got := familyOf(&api.Lineage{Sessions: nodes, Edges: edges}, "child")
	if len(got) != 4 || got[0].ID != "root" || got[1].ID != "child" || got[1].Level != 1 || got[1].Kind != "fork" || got[1].Entry != "e1" || !got[1].Self {
		t.Errorf("%+v", got)
	}
}

func TestChartSumsBySpan(t *testing.T) {
	t.Parallel()
	if chartOf(nil) != nil {
		t.Error("there is a chart of nothing")
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := chartOf([]use{{at, 5}})
	if len(one.Bars) != 1 || one.Bars[0].Height != chartHeight {
		t.Errorf("of one answer: %+v", one)
	}
	c := chartOf([]use{{at.Add(time.Hour), 50}, {at, 60}, {at.Add(time.Second), 40}})
	if len(c.Bars) != 2 || c.Bars[0].X != 0 || c.Bars[0].Height != chartHeight || c.Bars[1].X != c.Width()-barWidth || c.Bars[1].Height != chartHeight/2 {
		t.Errorf("of three answers: %+v", c)
	}
}
