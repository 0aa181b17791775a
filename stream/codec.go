package stream

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
)

// Headers of a record's message. docs/FORMAT.md describes them.
const (
	hdrVersion  = "Sess-V"
	hdrKind     = "Sess-Kind"
	hdrSeq      = "Sess-Seq"
	hdrChain    = "Sess-Chain"
	hdrBase     = "Sess-Base"
	hdrHead     = "Sess-Head"
	hdrWriter   = "Sess-Writer"
	hdrEpoch    = "Sess-Epoch"
	hdrCount    = "Sess-Count"
	hdrEncoding = "Sess-Encoding"
	hdrSpill    = "Sess-Spill"
	hdrRedo     = "Sess-Redo"

	// A header of the server, which it stores with the message.
	hdrExpected = "Nats-Expected-Last-Subject-Sequence"
)

// redoRestored is the value of hdrRedo on a record that was restored from a backup.
// Other values than 0 mark a repeated record that the log had lost.
const redoRestored = 2

const (
	// SpillSize is the maximum size of a body in a message, in bytes, after
	// compression if that helps. A larger body becomes a blob.
	SpillSize = 256 << 10
	// maxBody is the maximum size of a plain body.
	maxBody = 512 << 20
	// compressFrom is the minimum size of a body that is compressed.
	compressFrom = 4 << 10
	// maxInflate is the maximum plain size of a compressed body, so that a message
	// cannot fill a reader's memory. A larger body is spilled.
	maxInflate = 16 << 20
)

// frame is a record in the form of its message: the body may be compressed, or kept
// as a blob.
type frame struct {
	rec   core.Record // without body
	data  []byte
	zstd  bool
	spill core.Digest
	split bool // its headers had another length in the leader's copy
}

// pack chooses the form of r's body. If f.spill is set, the caller stores the body as
// that blob.
func pack(r *core.Record) (frame, error) {
	f := frame{rec: *r, data: r.Body}
	f.rec.Body = nil
	if len(r.Body) > maxBody {
		return f, fmt.Errorf("record body of %d bytes, %d are allowed: %w", len(r.Body), maxBody, core.ErrTooLarge)
	}
	if len(r.Body) >= compressFrom && len(r.Body) <= maxInflate {
		if c := encoder().EncodeAll(r.Body, nil); len(c) < len(r.Body) {
			f.data, f.zstd = c, true
		}
	}
	if len(f.data) > SpillSize {
		f.data, f.zstd, f.spill = nil, false, core.DigestOf(r.Body)
	}
	return f, nil
}

// message returns the frame as a message on subject.
func (f *frame) message(subject string) *nats.Msg {
	h := newHeaders()
	h.set(hdrVersion, strconv.Itoa(core.Version))
	h.set(hdrKind, string(f.rec.Kind))
	h.set(hdrSeq, strconv.FormatUint(f.rec.Seq, 10))
	h.set(hdrChain, f.rec.Chain.String())
	if f.rec.Base != 0 {
		h.set(hdrBase, strconv.FormatUint(uint64(f.rec.Base), 10))
	}
	h.set(hdrHead, f.rec.Head)
	h.set(hdrWriter, f.rec.Writer)
	h.set(hdrEpoch, strconv.FormatUint(f.rec.Epoch, 10))
	h.set(hdrCount, strconv.Itoa(f.rec.Count))
	if f.zstd {
		h.set(hdrEncoding, "zstd")
	}
	if !f.spill.IsZero() {
		h.set(hdrSpill, f.spill.String())
	}
	switch {
	case f.rec.Redo && f.rec.Restored:
		h.set(hdrRedo, strconv.Itoa(redoRestored))
	case f.rec.Redo:
		h.set(hdrRedo, "1")
	}
	return &nats.Msg{Subject: subject, Header: h.all, Data: f.data}
}

// headers collects the headers of a message with two allocations.
type headers struct {
	all    nats.Header
	values []string
}

// usualHeaders is how many headers a message has room for, with those of the server. The
// map of a few more would have twice the size.
const usualHeaders = 14

func newHeaders() *headers {
	return &headers{make(nats.Header, usualHeaders), make([]string, 0, usualHeaders)}
}

func (h *headers) set(key, value string) {
	h.values = append(h.values, value)
	n := len(h.values)
	h.all[key] = h.values[n-1 : n : n]
}

// readFrame parses a message's headers. Returns core.ErrCorrupt if they are not those
// of a record, and core.ErrTooNew if a later version wrote them.
func readFrame(h nats.Header, data []byte) (frame, error) {
	f := frame{data: data}
	v, err := strconv.Atoi(h.Get(hdrVersion))
	if err != nil || v < 1 {
		return f, fmt.Errorf("%s is %q: %w", hdrVersion, h.Get(hdrVersion), core.ErrCorrupt)
	}
	if v > core.Version {
		return f, fmt.Errorf("a record of protocol version %d, this node reads up to %d: %w", v, core.Version, core.ErrTooNew)
	}
	r := &f.rec
	r.Kind, r.Head, r.Writer = core.Kind(h.Get(hdrKind)), h.Get(hdrHead), h.Get(hdrWriter)
	if r.Kind == "" {
		return f, fmt.Errorf("%s is missing: %w", hdrKind, core.ErrCorrupt)
	}
	if r.Chain, err = core.ParseChain(h.Get(hdrChain)); err != nil {
		return f, fmt.Errorf("%s: %v: %w", hdrChain, err, core.ErrCorrupt)
	}
	var base, count, after, redo uint64
	for _, n := range []struct {
		name string
		to   *uint64
	}{{hdrSeq, &r.Seq}, {hdrEpoch, &r.Epoch}, {hdrBase, &base}, {hdrCount, &count}, {hdrExpected, &after}, {hdrRedo, &redo}} {
		if err := readUint(h, n.name, n.to); err != nil {
			return f, err
		}
	}
	if r.Seq == 0 || count > maxBody {
		return f, fmt.Errorf("%s is %d, %s is %d: %w", hdrSeq, r.Seq, hdrCount, count, core.ErrCorrupt)
	}
	r.Base, r.Count, r.After = core.Pos(base), int(count), core.Pos(after)
	r.Redo, r.Restored = redo != 0, redo == redoRestored
	return f, f.readEncoding(h)
}

func (f *frame) readEncoding(h nats.Header) error {
	switch e := h.Get(hdrEncoding); e {
	case "":
	case "zstd":
		f.zstd = true
	default:
		return fmt.Errorf("%s is %q: %w", hdrEncoding, e, core.ErrTooNew)
	}
	s := h.Get(hdrSpill)
	if s == "" {
		return nil
	}
	d, err := core.ParseDigest(s)
	if err != nil {
		return fmt.Errorf("%s: %v: %w", hdrSpill, err, core.ErrCorrupt)
	}
	f.spill = d
	return nil
}

// readUint parses a number into *to, and leaves it alone if the header is absent.
func readUint(h nats.Header, name string, to *uint64) error {
	s := h.Get(name)
	if s == "" {
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is %q: %w", name, s, core.ErrCorrupt)
	}
	*to = n
	return nil
}

// plain returns the body of a message that is not spilled, decompressed.
func (f *frame) plain() ([]byte, error) {
	if !f.zstd {
		return f.data, nil
	}
	b, err := decoder().DecodeAll(f.data, nil)
	if err != nil {
		return nil, fmt.Errorf("body of record %d does not decompress: %v: %w", f.rec.Seq, err, core.ErrCorrupt)
	}
	return b, nil
}

// encoder compresses with the fastest level: the log keeps a body only until a snapshot covers
// it, and the next append of its session waits for the encoder. The default level takes twice
// the time to save 6 %.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxInflate))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})
