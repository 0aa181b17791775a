package materializer_test

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
)

// Rows that an older version wrote do not say where a session is from. They are
// made anew from the log, once.
func TestRowsOfAnotherFormatAreMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m, _, stop := r.run(t, materializer.Policy{})
	src := r.create(t, "the-source")
	if _, err := r.sessions.Fork(t.Context(), src, stream.Fork{ID: "the-fork"}); err != nil {
		t.Fatal(err)
	}
	if err := m.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()

	js, err := jetstream.New(r.conn)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(t.Context(), "SESSDIR_main")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := kv.Get(t.Context(), "s.the-fork")
	if err != nil {
		t.Fatal(err)
	}
	older := bytes.Replace(kept.Value(), []byte(`{"format":3,`), []byte(`{`), 1)
	older = bytes.Replace(older, []byte(`"lineage"`), []byte(`"unheard"`), 1)
	if _, err := kv.Put(t.Context(), "s.the-fork", older); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second run finds them as they should be
		m, d, stop := r.run(t, materializer.Policy{})
		if err := m.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows := d.Rows()
		if len(rows) != 2 || rows[1].ID != "the-fork" || rows[1].Lineage.Kind != lineage.Fork || rows[1].Lineage.Parents[0].Session != "the-source" {
			t.Fatalf("the rows are %+v", rows)
		}
		stop()
	}
}
