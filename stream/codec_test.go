package stream

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

func record() *core.Record {
	r := &core.Record{Kind: core.KindAppend, Seq: 7, Base: 3, Head: "main", Writer: "w", Epoch: 2, Count: 1, Body: []byte(`{"id":"a"}`)}
	r.Chain = core.Chain{}.Next(r)
	return r
}

func TestFrameRoundTrip(t *testing.T) {
	noise := make([]byte, 2*SpillSize)
	_, _ = rand.Read(noise)
	for name, c := range map[string]struct {
		body        []byte
		zstd, spill bool
	}{
		"empty":                 {nil, false, false},
		"small":                 {[]byte("{}"), false, false},
		"large":                 {bytes.Repeat([]byte("{}\n"), 1<<16), true, false},
		"noise":                 {noise[:SpillSize], false, false},
		"noise, one byte more":  {noise[:SpillSize+1], false, true},
		"above the plain limit": {make([]byte, maxInflate+1), false, true},
	} {
		r := record()
		r.Body = c.body
		f, err := pack(r)
		if err != nil {
			t.Fatal(err)
		}
		m := f.message("s")
		if len(m.Data) > SpillSize {
			t.Errorf("%s: the message has %d bytes", name, len(m.Data))
		}
		got, err := readFrame(m.Header, m.Data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.zstd != c.zstd || got.spill.IsZero() == c.spill {
			t.Errorf("%s: zstd %v, spill %v", name, got.zstd, got.spill)
		}
		if c.spill {
			continue
		}
		if got.rec.Body, err = got.plain(); err != nil || !bytes.Equal(got.rec.Body, c.body) {
			t.Errorf("%s: body differs, %v", name, err)
		}
		got.rec.Body = r.Body
		if d := cmp.Diff(r, &got.rec); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
	r := record()
	r.Body = make([]byte, maxBody+1)
	if _, err := pack(r); !errors.Is(err, core.ErrTooLarge) {
		t.Errorf("a body over the limit: %v", err)
	}
}

func TestReadFrameRejectsCorruptHeaders(t *testing.T) {
	for _, c := range []struct {
		header, value string
		want          error
	}{
		{hdrVersion, "", core.ErrCorrupt},
		{hdrVersion, "x", core.ErrCorrupt},
		{hdrVersion, "-1", core.ErrCorrupt},
		{hdrVersion, "2", core.ErrTooNew},
		{hdrKind, "", core.ErrCorrupt},
		{hdrSeq, "0", core.ErrCorrupt},
		{hdrSeq, "-1", core.ErrCorrupt},
		{hdrSeq, "18446744073709551616", core.ErrCorrupt},
		{hdrChain, "", core.ErrCorrupt},
		{hdrChain, strings.Repeat("A", 64), core.ErrCorrupt},
		{hdrChain, strings.Repeat("x", 64), core.ErrCorrupt},
		{hdrBase, "x", core.ErrCorrupt},
		{hdrEpoch, "1.5", core.ErrCorrupt},
		{hdrCount, "9999999999", core.ErrCorrupt},
		{hdrEncoding, "br", core.ErrTooNew},
		{hdrSpill, "sha256:00", core.ErrCorrupt},
	} {
		f, err := pack(record())
		if err != nil {
			t.Fatal(err)
		}
		m := f.message("s")
		m.Header.Set(c.header, c.value)
		if _, err := readFrame(m.Header, m.Data); !errors.Is(err, c.want) {
			t.Errorf("%s %q: %v, want %v", c.header, c.value, err, c.want)
		}
	}
}

// A small message must not fill a reader's memory.
func TestDecompressionIsBounded(t *testing.T) {
	var stream bytes.Buffer // without its size
	w, err := zstd.NewWriter(&stream)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 4 * maxInflate >> 20 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bombs := map[string][]byte{
		"unknown size": stream.Bytes(),
		"claims 2^60":  {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x10, 1, 0, 0},
		"not zstd":     []byte("not zstd"),
		"truncated":    stream.Bytes()[:stream.Len()/2],
	}
	for name, data := range bombs {
		f := frame{data: data, zstd: true}
		if b, err := f.plain(); !errors.Is(err, core.ErrCorrupt) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	fr, err := pack(record())
	if err != nil {
		f.Fatal(err)
	}
	m := fr.message("s")
	f.Add("1", "append", m.Header.Get(hdrChain), "7", "3", "2", "main", "w", "1", "", "", m.Data)
	f.Add("1", "x", strings.Repeat("0", 64), "1", "", "", "", "", "", "zstd", "", []byte{0x28, 0xb5, 0x2f, 0xfd})
	f.Add("1", "x", strings.Repeat("0", 64), "1", "", "", "", "", "", "", "sha256:"+strings.Repeat("0", 64), []byte{})
	f.Fuzz(func(t *testing.T, version, kind, chain, seq, base, epoch, head, writer, count, encoding, spill string, data []byte) {
		h := nats.Header{}
		for name, v := range map[string]string{
			hdrVersion: version, hdrKind: kind, hdrChain: chain, hdrSeq: seq, hdrBase: base, hdrEpoch: epoch,
			hdrHead: head, hdrWriter: writer, hdrCount: count, hdrEncoding: encoding, hdrSpill: spill,
		} {
			if v != "" {
				h.Set(name, v)
			}
		}
		got, err := readFrame(h, data)
		if err != nil {
			if !errors.Is(err, core.ErrCorrupt) && !errors.Is(err, core.ErrTooNew) {
				t.Fatalf("unclassified error: %v", err)
			}
			return
		}
		body, err := got.plain()
		if err != nil || !got.spill.IsZero() {
			return
		}
		r := got.rec
		r.Body = body
		again, err := pack(&r)
		if err != nil {
			t.Fatal(err)
		}
		m := again.message("s")
		back, err := readFrame(m.Header, m.Data)
		if err != nil {
			t.Fatalf("frame cannot be read back: %v", err)
		}
		if back.spill.IsZero() {
			if b, err := back.plain(); err != nil || !bytes.Equal(b, body) {
				t.Fatalf("body differs, %v", err)
			}
		}
		if d := cmp.Diff(got.rec, back.rec); d != "" {
			t.Fatal(d)
		}
	})
}

func TestMapErrorClassifiesServerErrors(t *testing.T) {
	for _, c := range []struct {
		code, status int
		want         error
		busy         bool
	}{
		{10071, 400, core.ErrConflict, false},
		{10164, 400, core.ErrUnavailable, true},
		{10158, 409, core.ErrUnavailable, true},
		{10167, 429, core.ErrUnavailable, true},
		{10008, 503, core.ErrUnavailable, true},
		{10077, 503, core.ErrFull, false},
		{10023, 503, core.ErrFull, false},
		{10002, 400, core.ErrFull, false},
		{10047, 500, core.ErrFull, false},
		{10054, 400, core.ErrTooLarge, false},
		{10060, 400, core.ErrUnavailable, false},
		{10037, 404, core.ErrNotFound, false},
	} {
		err := mapError(&jetstream.APIError{ErrorCode: jetstream.ErrorCode(c.code), Code: c.status, Description: "said"})
		if !errors.Is(err, c.want) || errors.Is(err, errBusy) != c.busy || errors.Is(err, core.ErrUncertain) {
			t.Errorf("%d is %v, want %v, busy %v", c.code, err, c.want, c.busy)
		}
	}
	for err, want := range map[error]error{
		nats.ErrNoResponders: errBusy, nats.ErrTimeout: core.ErrUncertain, nats.ErrConnectionClosed: core.ErrUncertain,
		nats.ErrMaxPayload: core.ErrTooLarge, errors.New("unforeseen"): core.ErrUncertain,
	} {
		if got := mapError(err); !errors.Is(got, want) {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}

func TestShardOfMatchesNATSPartition(t *testing.T) {
	tr, err := server.NewSubjectTransform("*", "{{partition(8,1)}}")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		id := core.SessionID(fmt.Sprintf("session-%d", i))
		if got, want := strconv.Itoa(shardOf(id, 8)), tr.TransformSubject(string(id)); got != want {
			t.Errorf("%s: shard %s, the server computes %s", id, got, want)
		}
	}
}

func TestReadAck(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]core.Pos{
		`{"stream":"S","seq":7}`:                  7,
		`{"stream":"S", "seq":7}`:                 7,
		`{"stream":"S","seq":7,"duplicate":true}`: 7,
		`{"stream":"S","domain":"d","seq":7}`:     7,
	} {
		if got, err := readAck([]byte(answer), "S"); got != want || err != nil {
			t.Errorf("%s: %d, %v", answer, got, err)
		}
	}
	for answer, want := range map[string]error{
		`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 3"},"stream":"S","seq":0}`: core.ErrConflict,
		`{"stream":"S","seq":0}`:  core.ErrUncertain,
		`{"stream":"T","seq":7}`:  core.ErrUncertain,
		`{"stream":"S","seq":7`:   core.ErrUncertain,
		`{"stream":"S","seq":-7}`: core.ErrUncertain,
		`{}`:                      core.ErrUncertain,
		``:                        core.ErrUncertain,
	} {
		if got, err := readAck([]byte(answer), "S"); got != 0 || !errors.Is(mapError(err), want) {
			t.Errorf("%s: %d, %v", answer, got, err)
		}
	}
}
