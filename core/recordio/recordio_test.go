package recordio_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
)

func records() []*recordio.Record {
	at := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	rs := []*recordio.Record{
		{Record: core.Record{Kind: core.KindOpen, Head: "main", Writer: "w1", Body: []byte("{}\n{\"id\":\"é\"}"), Pos: 7, Time: at}},
		{Record: core.Record{Kind: core.KindAppend, Head: "main", Writer: "w1", Count: 3, Base: 7, Pos: 9, Redo: true}, Spill: core.DigestOf([]byte("elsewhere"))},
		{Record: core.Record{Kind: "later", Head: "a.b", Writer: "<&>", Epoch: 12, Body: []byte("\x00\xff\n\n"), Pos: 10}},
		{Record: core.Record{Kind: core.KindClose, Head: "main", Writer: "w1", Body: []byte{}}},
	}
	chain := core.ChainStart("main", "hello-2026")
	for i, r := range rs {
		r.Seq = uint64(i) + 1
		chain = chain.NextOf(&r.Record, r.Sum())
		r.Chain = chain
		if r.Body == nil {
			r.Body = []byte{}
		}
	}
	return rs
}

func written(t testing.TB, rs []*recordio.Record) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, r := range rs {
		if err := recordio.Write(&buf, r); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func readAll(b []byte) (rs []*recordio.Record, err error) {
	rd := recordio.NewReader(bytes.NewReader(b))
	for {
		r, err := rd.Next()
		if err == io.EOF {
			return rs, nil
		}
		if err != nil {
			return rs, err
		}
		rs = append(rs, r)
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	want := records()
	got, err := readAll(written(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	chain, seq := core.ChainStart("main", "hello-2026"), uint64(0)
	for _, r := range got {
		if !r.Follows(seq, chain) {
			t.Errorf("record %d does not follow", r.Seq)
		}
		seq, chain = r.Seq, r.Chain
	}
}

func TestReaderRejectsTruncatedRecord(t *testing.T) {
	t.Parallel()
	all := written(t, records())
	for n := range all {
		rs, err := readAll(all[:n])
		whole := written(t, rs)
		if err == nil && len(whole) != n {
			t.Fatalf("%d of %d bytes read as %d records without an error", n, len(all), len(rs))
		}
		if err != nil && !errors.Is(err, core.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

func TestWriteRejectsInvalidNames(t *testing.T) {
	t.Parallel()
	r := records()[0]
	r.Writer = "\xff"
	if err := recordio.Write(io.Discard, r); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(f, records()))
	f.Add([]byte(`{"kind":"open","seq":1,"size":1000000}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rs, err := readAll(b)
		if err != nil && !errors.Is(err, core.ErrCorrupt) {
			t.Fatal(err)
		}
		for _, r := range rs {
			if err := recordio.Write(io.Discard, r); err != nil {
				t.Fatal(err)
			}
		}
	})
}
