package stream_test

import (
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// A record of entries may be megabytes, and those who ask for a link need its chain.
func TestLinksHaveTheBodiesOfAllButEntries(t *testing.T) {
	t.Parallel()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{})
	for _, tt := range []struct {
		kind core.Kind
		want string
	}{
		{core.KindOpen, "body"},
		{core.KindCheckpoint, "body"},
		{core.KindErase, "body"},
		{core.KindAppend, ""},
		{core.KindAmend, ""},
	} {
		id := logtest.NewID()
		r := &core.Record{Seq: 1, Kind: tt.kind, Head: core.MainHead, Body: []byte("body"), Chain: core.Chain{1}}
		pos, err := l.Append(t.Context(), id, 0, r)
		if err != nil {
			t.Fatal(err)
		}
		last, err := l.LastLink(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		at, err := l.LinkAt(t.Context(), id, pos)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range []*core.Record{last, at} {
			if string(link.Body) != tt.want || link.Chain != r.Chain || link.Pos != pos {
				t.Errorf("%s: body %q, chain %s, at %d; want body %q, chain %s, at %d", tt.kind, link.Body, link.Chain, link.Pos, tt.want, r.Chain, pos)
			}
		}
	}
}
