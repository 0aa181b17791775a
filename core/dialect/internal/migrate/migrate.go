package migrate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// ToV3 migrates records, header first, to version 3 as pi does when it opens an
// old file. It returns the version that the header names, for people, and
// whether records were rewritten: records of an old file become what
// JSON.stringify returns for them, those of a new file keep their bytes.
func ToV3(records []core.Entry) (version string, rewritten bool, err error) {
	h, err := jsonl.Object(records[0])
	if err != nil {
		return "", false, err
	}
	raw := h.Get("version")
	version = "1"
	if raw != nil {
		version = jsonl.Clip(string(raw), 64)
	}
	from := float64(1)
	if !raw.IsNullish() {
		from = toNumber(raw)
	}
	if from >= newest {
		return version, false, nil
	}
	return version, true, rewrite(records[0].ID, records, from)
}

// newest is the version that records are brought to, typeHeader the type of a
// header line.
const (
	newest     = 3
	typeHeader = "session"
)

// rewrite migrates records from version from, which is less than 3 or NaN. As
// in pi, NaN changes nothing, but the records are rewritten.
func rewrite(session string, records []core.Entry, from float64) error {
	objects := make([]jsjson.Object, len(records))
	for i, e := range records {
		o, err := jsonl.Object(e)
		if err != nil {
			return err
		}
		objects[i] = o
	}
	if from < 2 {
		giveIDs(session, records, objects)
	}
	if from < newest {
		toVersion3(records, objects)
	}
	for i := range records {
		line, err := objects[i].Append(nil)
		if err != nil {
			return err
		}
		if records[i], err = jsonl.Entry(line); err != nil {
			return err
		}
	}
	return nil
}

// giveIDs is the step to version 2: it chains the entries, whatever ids they
// had, and lets compactions name what they kept by id instead of place.
func giveIDs(session string, records []core.Entry, objects []jsjson.Object) {
	ids := newIDs(session)
	parent := jsjson.Value("null")
	for i := range objects {
		o := &objects[i]
		if records[i].Type == typeHeader {
			o.Set("version", jsjson.Value("2"))
			continue
		}
		id := jsjson.Value(jsjson.AppendString(nil, ids.next(i, records[i].Line)))
		o.Set("id", id)
		o.Set("parentId", parent)
		parent = id
		if records[i].Type == "compaction" {
			nameKept(o, records, objects)
		}
	}
}

// nameKept turns the firstKeptEntryIndex of a compaction into the id of the
// record at that index. A record after the compaction has no new id yet, so its
// old one is used, which usually is none.
func nameKept(o *jsjson.Object, records []core.Entry, objects []jsjson.Object) {
	f, ok := o.Get("firstKeptEntryIndex").Number()
	if !ok {
		return
	}
	if f >= 0 && f < float64(len(records)) && f == math.Trunc(f) && records[int(f)].Type != typeHeader {
		o.Set("firstKeptEntryId", objects[int(f)].Get("id"))
	}
	o.Delete("firstKeptEntryIndex")
}

// toVersion3 is the step to version 3: hook messages become custom messages.
func toVersion3(records []core.Entry, objects []jsjson.Object) {
	for i := range objects {
		o := &objects[i]
		switch records[i].Type {
		case typeHeader:
			o.Set("version", jsjson.Value(strconv.Itoa(newest)))
		case "message":
			m, ok := jsonl.Nested(o.Get("message"))
			if !ok || !m.Get("role").Is("hookMessage") {
				continue
			}
			m.Set("role", jsjson.Value(`"custom"`))
			if b, err := m.Append(nil); err == nil {
				o.Set("message", b)
			}
		}
	}
}

// idMaker makes the ids of one file's entries: 8 hex digits, no two alike.
type idMaker struct {
	session string
	used    map[string]bool
}

func newIDs(session string) *idMaker { return &idMaker{session, map[string]bool{}} }

// next returns the id of the record at place i of the file, whose bytes are
// line. It depends on nothing else but the session's id and, should two ids
// come out alike, the records before.
func (m *idMaker) next(i int, line []byte) string {
	for try := uint64(0); ; try++ {
		id := deriveID(m.session, uint64(i), try, line)
		if !m.used[id] {
			m.used[id] = true
			return id
		}
	}
}

func deriveID(session string, place, try uint64, line []byte) string {
	h := sha256.New()
	for _, n := range []uint64{uint64(len(session)), place, try} {
		h.Write(binary.BigEndian.AppendUint64(nil, n))
	}
	h.Write([]byte(session))
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil)[:4])
}
