package openrath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// A Migration turns a record of one schema version, a JSON object, into one of
// the next version. It must be pure: the same record gives the same result.
type Migration func(record json.RawMessage) (json.RawMessage, error)

// Migrations upgrade records of older schema versions to the current one, in
// memory. They are immutable; the zero Migrations and nil hold none.
type Migrations struct{ headers, chunks map[int]Migration }

// WithHeader returns m with f for headers of the version from, in place of what
// it had for them. ErrInvalid when from is not older than Version.
func (m *Migrations) WithHeader(from int, f Migration) (*Migrations, error) {
	n, err := m.clone(from)
	if err == nil {
		n.headers[from] = f
	}
	return n, err
}

// WithChunk is WithHeader for chunks.
func (m *Migrations) WithChunk(from int, f Migration) (*Migrations, error) {
	n, err := m.clone(from)
	if err == nil {
		n.chunks[from] = f
	}
	return n, err
}

func (m *Migrations) clone(from int) (*Migrations, error) {
	if from >= Version {
		return nil, fmt.Errorf("a migration from schema version %d: only those before %d are migrated: %w", from, Version, core.ErrInvalid)
	}
	n := &Migrations{map[int]Migration{}, map[int]Migration{}}
	if m != nil {
		maps.Copy(n.headers, m.headers)
		maps.Copy(n.chunks, m.chunks)
	}
	return n, nil
}

// oldest is the oldest version that anything is migrated from.
const oldest = -1 << 10

// header returns a header of the version from as one of the current version.
// Every version between must have its migration.
func (m *Migrations) header(line []byte, from int) ([]byte, error) {
	if from >= Version {
		return line, checkVersion(from)
	}
	for v := from; v < Version; v++ {
		if m == nil || m.headers[v] == nil || v < oldest {
			return nil, checkVersion(v)
		}
		next, err := m.headers[v](bytes.Clone(line))
		if err != nil {
			return nil, fmt.Errorf("header from schema version %d: %v: %w", v, err, core.ErrInvalid)
		}
		line = next
	}
	o, err := jsjson.ParseObject(line)
	if err != nil {
		return nil, malformed(err.Error())
	}
	o.Set("schema_version", strconv.AppendInt(nil, Version, 10))
	text, err := o.Append(nil)
	return spaced(nil, jsonline.EscapeSeparators(text)), err
}

// chunk returns a chunk of a file that was of the version from. A version
// without a migration changed nothing in chunks.
func (m *Migrations) chunk(line []byte, from int) ([]byte, error) {
	if m == nil || from < oldest {
		return line, nil
	}
	for v := from; v < Version; v++ {
		f := m.chunks[v]
		if f == nil {
			continue
		}
		next, err := f(bytes.Clone(line))
		if err == nil {
			var flat bytes.Buffer
			if err = json.Compact(&flat, next); err == nil {
				line = spaced(nil, flat.Bytes())
				continue
			}
		}
		return nil, fmt.Errorf("chunk from schema version %d: %v: %w", v, err, core.ErrInvalid)
	}
	return line, nil
}
