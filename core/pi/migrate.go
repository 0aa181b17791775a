package pi

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// migrate brings the records of f, header first, to version 3 as pi does when
// it opens an old file, and notes the version the file had. Records of an old
// file become what JSON.stringify gives for them; a new file keeps its bytes.
func migrate(f *core.File, records []core.Entry) error {
	h, err := object(records[0])
	if err != nil {
		return err
	}
	raw := h.Get("version")
	f.Version = "1"
	if raw != nil {
		f.Version = clip(string(raw), 64)
	}
	from := float64(1)
	if !raw.IsNullish() {
		from = toNumber(raw)
	}
	if from >= version {
		return nil
	}
	f.Exact = false
	return rewrite(f.Header.ID, records, from)
}

// rewrite migrates records from version from, which is less than 3 or NaN. As
// in pi, NaN is no reason to change anything, and no reason not to rewrite.
func rewrite(session string, records []core.Entry, from float64) error {
	objects := make([]esjson.Object, len(records))
	for i, e := range records {
		o, err := object(e)
		if err != nil {
			return err
		}
		objects[i] = o
	}
	if from < 2 {
		giveIDs(session, records, objects)
	}
	if from < version {
		toVersion3(records, objects)
	}
	for i := range records {
		line, err := objects[i].Append(nil)
		if err != nil {
			return err
		}
		if records[i], err = readEntry(line); err != nil {
			return err
		}
	}
	return nil
}

// giveIDs is the step to version 2: it chains the entries, whatever ids they
// had, and lets compactions name what they kept by id instead of place.
func giveIDs(session string, records []core.Entry, objects []esjson.Object) {
	ids := newIDs(session)
	parent := esjson.Value("null")
	for i := range objects {
		o := &objects[i]
		if records[i].Type == typeHeader {
			o.Set("version", esjson.Value("2"))
			continue
		}
		id := esjson.Value(esjson.AppendString(nil, ids.next(i, records[i].Line)))
		o.Set("id", id)
		o.Set("parentId", parent)
		parent = id
		if records[i].Type == "compaction" {
			nameKept(o, records, objects)
		}
	}
}

// nameKept turns the firstKeptEntryIndex of a compaction into the id of the
// record at that place. A record behind the compaction has no new id yet: its
// old one is taken, which is mostly none.
func nameKept(o *esjson.Object, records []core.Entry, objects []esjson.Object) {
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
func toVersion3(records []core.Entry, objects []esjson.Object) {
	for i := range objects {
		o := &objects[i]
		switch records[i].Type {
		case typeHeader:
			o.Set("version", esjson.Value(strconv.Itoa(version)))
		case "message":
			m, ok := nested(o.Get("message"))
			if !ok || !m.Get("role").Is("hookMessage") {
				continue
			}
			m.Set("role", esjson.Value(`"custom"`))
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

// toNumber is JavaScript's Number(v), as its comparisons use it.
func toNumber(v esjson.Value) float64 {
	switch v.Kind() {
	case 'n', 'f':
		return 0
	case 't':
		return 1
	case '"':
		s, _ := text(v)
		return stringToNumber(s)
	case '[':
		return arrayToNumber(v)
	case '{', 0:
		return math.NaN()
	}
	f, _ := v.Number()
	return f
}

// arrayToNumber is toNumber of an array's text: that of its only item, the
// empty text where it has none.
func arrayToNumber(v esjson.Value) float64 {
	b, err := esjson.Append(nil, v)
	if err != nil {
		return math.NaN()
	}
	inner := esjson.Value(strings.Trim(string(b), "[]"))
	switch k := inner.Kind(); {
	case k == 0 || string(inner) == "null":
		return 0
	case k == 't' || k == 'f' || k == '{':
		return math.NaN()
	}
	if _, err := esjson.Append(nil, inner); err != nil {
		return math.NaN() // several items
	}
	return toNumber(inner)
}

// stringToNumber is JavaScript's Number(s).
func stringToNumber(s string) float64 {
	s = trim(s)
	if s == "" {
		return 0
	}
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil || strings.Contains(s, "_") {
			return math.NaN()
		}
		return float64(n)
	}
	if t := strings.TrimLeft(s, "+-"); t == "Infinity" && len(s)-len(t) <= 1 {
		return math.Inf(1 - 2*strings.Count(s, "-"))
	}
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}
