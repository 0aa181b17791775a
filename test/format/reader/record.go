package reader

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const (
	recordVersion = 1
	maxInflated   = 16 << 20  // bytes of a body that was compressed
	maxBody       = 512 << 20 // bytes of any body
)

// A Message is a message of a shard's stream.
type Message struct {
	Seq    uint64 // its sequence in the stream
	Header map[string][]string
	Data   []byte
}

// A Record is a message, decoded and checked, with its body.
type Record struct {
	Kind     string
	Seq      uint64
	Chain    [32]byte
	Base     uint64
	Head     string
	Writer   string
	Epoch    uint64
	Body     []byte
	Pos      uint64 // stream sequence
	Expected uint64 // stream sequence of the message it was stored after
}

// A Source has what records refer to.
type Source interface {
	// Object returns the object under a key, as it is stored.
	Object(key string) ([]byte, error)
	// Blob returns a blob by its digest ("sha256:" and 64 hex digits), unchecked.
	Blob(digest string) ([]byte, error)
}

// Decode reads a record from its message.
func Decode(m Message, src Source) (*Record, error) {
	get := func(name string) string {
		if v := m.Header[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	if v, err := strconv.Atoi(get("Sess-V")); err != nil || v < 1 || v > recordVersion {
		return nil, fmt.Errorf("record version %q", get("Sess-V"))
	}
	r := &Record{Kind: get("Sess-Kind"), Head: get("Sess-Head"), Writer: get("Sess-Writer"), Pos: m.Seq}
	for name, to := range map[string]*uint64{
		"Sess-Seq": &r.Seq, "Sess-Epoch": &r.Epoch, "Sess-Base": &r.Base,
		"Nats-Expected-Last-Subject-Sequence": &r.Expected,
	} {
		if text := get(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			*to = n
		}
	}
	if r.Kind == "" || r.Seq == 0 {
		return nil, fmt.Errorf("kind %q, seq %d", r.Kind, r.Seq)
	}
	if err := parseHex(r.Chain[:], get("Sess-Chain")); err != nil {
		return nil, err
	}
	var err error
	r.Body, err = body(get("Sess-Encoding"), get("Sess-Spill"), m.Data, src)
	return r, err
}

func body(encoding, spill string, data []byte, src Source) ([]byte, error) {
	switch {
	case spill != "":
		return blob(src, spill)
	case encoding == "zstd":
		return inflate(data, maxInflated)
	case encoding != "":
		return nil, fmt.Errorf("encoding %q", encoding)
	}
	return data, nil
}

// blob returns a blob whose digest is right.
func blob(src Source, digest string) ([]byte, error) {
	b, err := src.Blob(digest)
	if err == nil && digestOf(b) != digest {
		err = fmt.Errorf("blob %s has digest %s", digest, digestOf(b))
	}
	return b, err
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func inflate(packed []byte, most int64) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(most, 1))))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(packed, nil)
}

func parseHex(to []byte, text string) error {
	if len(text) != 2*len(to) || strings.ToLower(text) != text {
		return fmt.Errorf("%q is not %d lower-case hex digits", text, 2*len(to))
	}
	_, err := hex.Decode(to, []byte(text))
	return err
}

// FirstChain is chain(0) of a session.
func FirstChain(log, session string) [32]byte {
	return hashOf([]byte(log), []byte(session))
}

// NextChain is the chain of r if the record before it has chain c.
func NextChain(c [32]byte, r *Record) [32]byte {
	sum := sha256.Sum256(r.Body)
	return hashOf(c[:], []byte(r.Kind), strconv.AppendUint(nil, r.Seq, 10), []byte(r.Head),
		strconv.AppendUint(nil, r.Epoch, 10), []byte(r.Writer), sum[:])
}

func hashOf(fields ...[]byte) [32]byte {
	var b []byte
	for _, f := range fields {
		b = binary.BigEndian.AppendUint64(b, uint64(len(f)))
		b = append(b, f...)
	}
	return sha256.Sum256(b)
}

// Shard is the shard of a session in a log of that many.
func Shard(session string, shards uint32) uint32 {
	h := uint32(2166136261)
	for i := range len(session) {
		h = (h ^ uint32(session[i])) * 16777619
	}
	return h % shards
}

// Records reads records as a backup has them, one after the other.
func Records(b []byte, src Source) ([]*Record, error) {
	var all []*Record
	for len(b) > 0 {
		head, rest, found := bytes.Cut(b, []byte("\n"))
		var h struct {
			Kind, Chain, Head, Writer, Spill string
			Seq, Epoch, Base, Pos, Size      uint64
		}
		if err := json.Unmarshal(head, &h); err != nil || !found {
			return nil, fmt.Errorf("record header %.80q: %v", head, err)
		}
		if h.Size > maxBody || h.Size >= uint64(len(rest)) || rest[h.Size] != '\n' {
			return nil, fmt.Errorf("record %d has a body of %d bytes, %d are left", h.Seq, h.Size, len(rest))
		}
		r := &Record{
			Kind: h.Kind, Seq: h.Seq, Base: h.Base, Head: h.Head, Writer: h.Writer, Epoch: h.Epoch, Pos: h.Pos, Body: rest[:h.Size],
		}
		if err := parseHex(r.Chain[:], h.Chain); err != nil {
			return nil, err
		}
		if h.Spill != "" {
			var err error
			if r.Body, err = blob(src, h.Spill); err != nil {
				return nil, err
			}
		}
		all, b = append(all, r), rest[h.Size+1:]
	}
	return all, nil
}
