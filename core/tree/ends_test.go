package tree_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/tree"
)

func TestCheckEndRefusesLeafOutsidePath(t *testing.T) {
	t.Parallel()
	d := dialect.All()["operator"]
	path := func(target string) []core.Entry {
		var es []core.Entry
		for _, line := range []string{`{"type":"session_info","id":"a","timestamp":1}`, `{"type":"leaf","id":"b","timestamp":1,"parent_id":"a","target_id":"` + target + `"}`} {
			e, err := d.Entry([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			es = append(es, e)
		}
		return es
	}
	if err := tree.CheckEnd(d, path("a")); err != nil {
		t.Error(err)
	}
	if err := tree.CheckEnd(d, path("gone")); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
	if err := tree.CheckEnd(d, nil); err != nil {
		t.Error(err)
	}
}
