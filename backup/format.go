package backup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/core"
)

// Format is the version of what a Repo holds.
const Format = 1

// A Part is an object: its digest, which is its name, and its size.
type Part struct {
	Digest core.Digest `json:"digest"`
	Size   int64       `json:"size"`
}

func partOf(b []byte) Part { return Part{core.DigestOf(b), int64(len(b))} }

// Key is where the object lies in a Repo.
func (p Part) Key() string { return objectKey(p.Digest) }

func objectKey(d core.Digest) string {
	text := hex.EncodeToString(d[:])
	return "objects/" + text[:2] + "/" + text
}

// A Piece is an object that holds records, From and To included.
type Piece struct {
	Part
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// A Session is one session as a Run has it.
type Session struct {
	ID    core.SessionID `json:"id"`
	Seq   uint64         `json:"seq"` // of its last record
	Chain core.Chain     `json:"chain"`
	// BaseSeq and Base are of the record before the first one that is kept, which
	// the snapshot covers. Zero where that first one is the session's open, or its
	// erase.
	BaseSeq  uint64     `json:"baseSeq,omitempty"`
	Base     core.Chain `json:"base,omitzero"`
	Snapshot *Part      `json:"snapshot,omitempty"`
	Records  []Piece    `json:"records"`
	Blobs    *Part      `json:"blobs,omitempty"` // a list of them, an object itself
	// Missing are blobs that the session names and the node did not have, or not
	// sound.
	Missing []core.Digest `json:"missing,omitempty"`
	Erased  bool          `json:"erased,omitempty"`
	Info
}

func (s *Session) cursor() core.Cursor { return core.CursorOf(s.Seq, s.Chain) }

// Info is what a session is found by. It is what the node's listing said and
// proves nothing.
type Info struct {
	Dialect  string `json:"dialect,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	Name     string `json:"name,omitempty"`
	Entries  int    `json:"entries,omitempty"`
	Modified string `json:"modified,omitempty"`
	Deleted  bool   `json:"deleted,omitempty"` // in the trash
}

// A Problem is a session that could not be taken as it should be.
type Problem struct {
	Session core.SessionID `json:"session"`
	Detail  string         `json:"detail"`
}

// A ShardEnd is where a shard of the log was when the run began.
type ShardEnd struct {
	At     core.Pos `json:"at"`
	Strict bool     `json:"strict"` // a quorum of the log's servers stood for it
}

// A Run is one backup of a log.
type Run struct {
	Format  int        `json:"format"`
	ID      ulid.ULID  `json:"run"` // its time is when the run began
	Log     string     `json:"log"`
	Partial bool       `json:"partial,omitempty"` // it has not come to its end
	Ended   time.Time  `json:"ended"`
	Host    string     `json:"host,omitempty"`
	By      string     `json:"by,omitempty"`
	Shards  []ShardEnd `json:"shards"`
	// Sessions are in the order of their ids. One that could not be read this time
	// is there as the run before had it, where it had it.
	Sessions []Session `json:"sessions"`
	Problems []Problem `json:"problems,omitempty"`
}

// Began is when the run began.
func (r *Run) Began() time.Time { return r.ID.Timestamp() }

// Session returns the session called id, or nil.
func (r *Run) Session(id core.SessionID) *Session {
	for i := range r.Sessions {
		if r.Sessions[i].ID == id {
			return &r.Sessions[i]
		}
	}
	return nil
}

// Where runs lie. Their names are the run's id, a dash and the digest of the
// object.
const (
	runPrefix     = "runs/"
	partialPrefix = "partial/"
	runSuffix     = ".json.zst"
)

// A RunName names a run in a Repo.
type RunName struct {
	ID     ulid.ULID
	Digest core.Digest
	key    string
}

func nameRun(prefix string, id ulid.ULID, sum core.Digest) RunName {
	return RunName{id, sum, prefix + id.String() + "-" + hex.EncodeToString(sum[:]) + runSuffix}
}

// parseRun reads a key that nameRun made.
func parseRun(prefix, key string) (RunName, error) {
	id, sum, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(key, prefix), runSuffix), "-")
	n := RunName{key: key}
	var err error
	if n.ID, err = ulid.ParseStrict(id); err != nil {
		return n, fmt.Errorf("%s is no run's name: %v: %w", key, err, core.ErrCorrupt)
	}
	if n.Digest, err = core.ParseDigest("sha256:" + sum); err != nil {
		return n, fmt.Errorf("%s is no run's name: %v: %w", key, err, core.ErrCorrupt)
	}
	if key != nameRun(prefix, n.ID, n.Digest).key {
		return n, fmt.Errorf("%s is no run's name: %w", key, core.ErrCorrupt)
	}
	return n, nil
}

// encode returns the run as it is stored.
func (r *Run) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return pack(b), nil
}

// decodeRun reads what encode gave, whose digest was compared.
func decodeRun(b []byte) (*Run, error) {
	plain, err := unpack(b, maxRun)
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(plain, &r); err != nil {
		return nil, fmt.Errorf("it is no run: %v: %w", err, core.ErrCorrupt)
	}
	if r.Format > Format {
		return nil, fmt.Errorf("it has format %d, this version reads %d: %w", r.Format, Format, core.ErrTooNew)
	}
	return &r, nil
}

// Bounds of what is unpacked.
const (
	maxRun   = 4 << 30
	maxPiece = 128 << 20
)

// A list of blobs is a line for each, in the order of their digests: digest,
// space, size.
func encodeList(blobs []Part) []byte {
	var b bytes.Buffer
	for _, p := range blobs {
		fmt.Fprintf(&b, "%s %d\n", p.Digest, p.Size)
	}
	return b.Bytes()
}

func decodeList(b []byte) ([]Part, error) {
	var blobs []Part
	for line := range bytes.Lines(b) {
		var text string
		var p Part
		if _, err := fmt.Sscanf(string(line), "%s %d\n", &text, &p.Size); err != nil {
			return nil, fmt.Errorf("a line of it names no blob: %v: %w", err, core.ErrCorrupt)
		}
		d, err := core.ParseDigest(text)
		if err != nil {
			return nil, fmt.Errorf("a line of it names no blob: %v: %w", err, core.ErrCorrupt)
		}
		p.Digest = d
		blobs = append(blobs, p)
	}
	return blobs, nil
}

// pack compresses b.
func pack(b []byte) []byte { return encoder().EncodeAll(b, nil) }

// unpack returns what pack was given, at most that many bytes.
func unpack(b []byte, most int64) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out bytes.Buffer
	n, err := out.ReadFrom(io.LimitReader(d, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it holds more than %d bytes", most)
	}
	if err != nil {
		return nil, fmt.Errorf("it cannot be unpacked: %v: %w", err, core.ErrCorrupt)
	}
	return out.Bytes(), nil
}

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})
