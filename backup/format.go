package backup

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/core"
)

// format is the version of a Run's encoding.
const format = 1

// A Part is an object: its digest, which is its name, and its size.
type Part struct {
	Digest core.Digest `json:"digest"`
	Size   int64       `json:"size"`
}

func partOf(b []byte) Part { return Part{core.DigestOf(b), int64(len(b))} }

// Key returns the object's key in a Repo.
func (p Part) Key() string { return objectKey(p.Digest) }

func objectKey(d core.Digest) string {
	text := hex.EncodeToString(d[:])
	return "objects/" + text[:2] + "/" + text
}

// A Piece is an object that contains the records From to To, inclusive.
type Piece struct {
	Part
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// A Session is one session in a Run.
type Session struct {
	ID    core.SessionID `json:"id"`
	Seq   uint64         `json:"seq"` // of its last record
	Chain core.Chain     `json:"chain"`
	// BaseSeq and Base are those of the last record before Records, which the
	// snapshot covers. They are zero if Records starts with the session's open or
	// erase.
	BaseSeq  uint64     `json:"baseSeq,omitempty"`
	Base     core.Chain `json:"base,omitzero"`
	Snapshot *Part      `json:"snapshot,omitempty"`
	Records  []Piece    `json:"records"`
	Blobs    *Part      `json:"blobs,omitempty"` // the object with the list of blobs
	// Missing lists blobs that the session references and the node did not have
	// intact.
	Missing []core.Digest `json:"missing,omitempty"`
	Erased  bool          `json:"erased,omitempty"`
	Info
}

func (s *Session) cursor() core.Cursor { return core.CursorOf(s.Seq, s.Chain) }

// parts returns the objects of a session except its blobs.
func (s *Session) parts() []Part {
	var parts []Part
	for _, p := range s.Records {
		parts = append(parts, p.Part)
	}
	for _, p := range []*Part{s.Snapshot, s.Blobs} {
		if p != nil {
			parts = append(parts, *p)
		}
	}
	return parts
}

// Info describes a session to people. It is copied from the node's listing and not
// verified.
type Info struct {
	Dialect  string `json:"dialect,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	Name     string `json:"name,omitempty"`
	Entries  int    `json:"entries,omitempty"`
	Modified string `json:"modified,omitempty"`
	Deleted  bool   `json:"deleted,omitempty"` // in the trash
}

// A Problem is what is wrong with a session.
type Problem struct {
	Session core.SessionID `json:"session"`
	Detail  string         `json:"detail"`
}

// A ShardEnd is the end of a shard of the log when the run began.
type ShardEnd struct {
	At     core.Pos `json:"at"`
	Strict bool     `json:"strict"` // confirmed by a quorum of the log's servers
}

// A Run is one backup of a log.
type Run struct {
	Format  int        `json:"format"`
	ID      ulid.ULID  `json:"run"` // its time is when the run began
	Log     string     `json:"log"`
	Partial bool       `json:"partial,omitempty"` // progress of an unfinished run
	Ended   time.Time  `json:"ended"`
	Host    string     `json:"host,omitempty"`
	By      string     `json:"by,omitempty"`
	Shards  []ShardEnd `json:"shards"`
	// Sessions are ordered by id. A session that could not be read is included as
	// the previous run had it, if it did.
	Sessions []Session `json:"sessions"`
	Problems []Problem `json:"problems,omitempty"`
}

// Began returns the time at which the run began.
func (r *Run) Began() time.Time { return r.ID.Timestamp() }

// Session returns the session with that id, or nil. Sessions must be sorted.
func (r *Run) Session(id core.SessionID) *Session {
	i, ok := slices.BinarySearchFunc(r.Sessions, id, func(s Session, id core.SessionID) int { return cmp.Compare(s.ID, id) })
	if !ok {
		return nil
	}
	return &r.Sessions[i]
}

// The key of a run is one of the prefixes, the run's id, "-", the digest of the
// object in hex, and the suffix.
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

// parseRun parses a key made by nameRun.
func parseRun(prefix, key string) (RunName, error) {
	id, sum, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(key, prefix), runSuffix), "-")
	n := RunName{key: key}
	var err error
	if n.ID, err = ulid.ParseStrict(id); err != nil {
		return n, fmt.Errorf("%s is not the name of a run: %v: %w", key, err, core.ErrCorrupt)
	}
	if n.Digest, err = core.ParseDigest("sha256:" + sum); err != nil {
		return n, fmt.Errorf("%s is not the name of a run: %v: %w", key, err, core.ErrCorrupt)
	}
	if key != nameRun(prefix, n.ID, n.Digest).key {
		return n, fmt.Errorf("%s is not the name of a run: %w", key, core.ErrCorrupt)
	}
	return n, nil
}

// encode returns the stored form of the run.
func (r *Run) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return pack(b), nil
}

// decodeRun parses the output of encode. The caller has checked its digest.
func decodeRun(b []byte) (*Run, error) {
	plain, err := unpack(b, maxRun)
	if err != nil {
		return nil, err
	}
	var r Run
	if err := json.Unmarshal(plain, &r); err != nil {
		return nil, fmt.Errorf("not a run: %v: %w", err, core.ErrCorrupt)
	}
	if r.Format > format {
		return nil, fmt.Errorf("run has format %d, this version reads %d: %w", r.Format, format, core.ErrTooNew)
	}
	return &r, nil
}

// The limits of unpacked objects, in bytes.
const (
	maxRun   = 4 << 30
	maxPiece = 128 << 20
)

// encodeList returns a line for each blob: digest, space, size. The blobs are
// ordered by digest.
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
			return nil, fmt.Errorf("invalid list of blobs: %v: %w", err, core.ErrCorrupt)
		}
		d, err := core.ParseDigest(text)
		if err != nil {
			return nil, fmt.Errorf("invalid list of blobs: %v: %w", err, core.ErrCorrupt)
		}
		p.Digest = d
		blobs = append(blobs, p)
	}
	return blobs, nil
}

// pack compresses b.
func pack(b []byte) []byte { return encoder().EncodeAll(b, nil) }

// unpack reverses pack. It fails if the result has more than limit bytes.
func unpack(b []byte, limit int64) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out bytes.Buffer
	n, err := out.ReadFrom(io.LimitReader(d, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %v: %w", err, core.ErrCorrupt)
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
