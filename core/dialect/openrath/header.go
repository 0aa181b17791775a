package openrath

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Header reads a header of the current version: a record with an id and a time
// of creation. Other missing members have OpenRath's defaults, an unknown kind
// of lineage is none, and parents that are not UUIDs are left out. UUIDs are returned
// in OpenRath's spelling.
func (Dialect) Header(line []byte) (core.Header, error) {
	s, err := readHeader(line)
	if err != nil {
		return core.Header{}, err
	}
	h := core.Header{Line: line, ID: s.ID, Time: s.Created, Parents: s.Parents, Lineage: s.Kind.Word()}
	if spec, ok := jsonl.Nested(jsjson.Value(s.Sandbox.Spec)); ok {
		h.CWD, _ = spec.Get("working_dir").Text()
	}
	return h, nil
}

// readHeader returns the session that a header describes, which has no rows
// yet.
func readHeader(line []byte) (Session, error) {
	o, err := readRecord(line)
	if err != nil {
		return Session{}, err
	}
	if !o.Get("record_type").Is(recordHeader) {
		return Session{}, fmt.Errorf("it is not a header record: %w", core.ErrInvalid)
	}
	v, err := schemaVersion(o.Get("schema_version"))
	if err == nil {
		err = checkVersion(v)
	}
	if err != nil {
		return Session{}, err
	}
	s := Session{Operator: operatorImplicit, Kind: LineageUnknown}
	written, _ := o.Get("id").Text()
	s.ID = spelled(written)
	s.Created, _ = o.Get("created_at").Text()
	if s.ID == "" || strings.TrimSpace(s.ID) != s.ID {
		return s, malformed("it has no id")
	}
	if _, ok := parseTime(s.Created); !ok {
		return s, malformed("created_at is not a time")
	}
	s.lineage(&o)
	s.Sandbox = readSandbox(&o)
	s.Usage = readUsage(o.Get("cumulative_usage"))
	return s, nil
}

func malformed(why string) error {
	return fmt.Errorf("malformed header record: %s: %w", why, core.ErrInvalid)
}

// checkVersion refuses versions that the current code cannot read directly.
func checkVersion(v int) error {
	switch {
	case v > Version:
		return fmt.Errorf("persisted file declares schema_version=%d which is newer than %d: %w", v, Version, core.ErrInvalid)
	case v < Version:
		return fmt.Errorf("no header migrator registered for schema_version=%d: %w", v, core.ErrInvalid)
	}
	return nil
}

// schemaVersion is the version as Python's int reads it, also from a string, or
// 0 if it is missing.
func schemaVersion(v jsjson.Value) (int, error) {
	if v == nil {
		return 0, nil
	}
	if f, ok := v.Number(); ok && math.Abs(f) < 1<<31 {
		return int(f), nil
	}
	if s, ok := v.Text(); ok {
		if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32); err == nil {
			return int(n), nil
		}
	}
	switch v.Kind() {
	case 't':
		return 1, nil
	case 'f':
		return 0, nil
	}
	return 0, malformed("schema_version is not a number")
}

func (s *Session) lineage(o *jsjson.Object) {
	if operator, ok := o.Get("lineage_operator").Text(); ok {
		s.Operator = operator
	}
	kind, _ := o.Get("lineage_kind").Text()
	s.Kind = LineageKind(kind).known()
	_ = jsjson.Each(o.Get("parent_session_ids"), func(v jsjson.Value) {
		id, _ := v.Text()
		if id, ok := canonicalUUID(id); ok {
			s.Parents = append(s.Parents, id)
		}
	})
	s.Extras = readExtras(o)
}

func readExtras(o *jsjson.Object) (extras []Extra) {
	_ = jsjson.Each(o.Get("lineage_extras"), func(v jsjson.Value) {
		if e, ok := readExtra(v); ok {
			extras = append(extras, e)
		}
	})
	return extras
}

// readExtra reads a pair of a name and a value.
func readExtra(v jsjson.Value) (Extra, bool) {
	var pair []jsjson.Value
	if err := jsjson.Each(v, func(item jsjson.Value) { pair = append(pair, item) }); err != nil || len(pair) != 2 {
		return Extra{}, false
	}
	key, ok := pair[0].Text()
	return Extra{key, rawOf(pair[1])}, ok
}

func readSandbox(o *jsjson.Object) Sandbox {
	var s Sandbox
	s.Backend, _ = o.Get("sandbox_backend").Text()
	s.Handle, _ = o.Get("sandbox_handle_id").Text()
	if spec := o.Get("sandbox_spec"); spec.Kind() == '{' {
		s.Spec = rawOf(spec)
	}
	return s
}

// NewHeader makes a header of the current version. A session with a parent is a
// fork of it; any other does not say where it came from. The directory is left
// out, because it belongs to the description of a sandbox, which is unknown.
func (Dialect) NewHeader(f core.HeaderFields) []byte {
	s := implicit(f.ID, Table{})
	s.Created = asPython(f.Time)
	if f.Parent != "" {
		s.Parents, s.Kind, s.Operator = []string{f.Parent}, LineageFork, operatorFork
	}
	return s.Header()
}

// Header is the header record that OpenRath writes for s.
func (s Session) Header() []byte {
	parents := s.Parents
	if parents == nil {
		parents = []string{}
	}
	b := append([]byte(`{"record_type": "header", "schema_version": `), strconv.Itoa(Version)...)
	b = appendMember(b, "id", quoted(s.ID))
	b = appendMember(b, "created_at", quoted(s.Created))
	b = appendMember(b, "parent_session_ids", jsonOf(parents))
	b = appendMember(b, "lineage_operator", quoted(s.Operator))
	b = appendMember(b, "lineage_kind", quoted(string(s.Kind)))
	b = appendMember(b, "lineage_extras", extrasText(s.Extras))
	b = appendMember(b, "sandbox_backend", quotedOrNull(s.Sandbox.Backend))
	spec := []byte(s.Sandbox.Spec)
	if spec == nil {
		spec = null
	}
	b = appendMember(b, "sandbox_spec", spec)
	return append(appendMember(b, "sandbox_handle_id", quotedOrNull(s.Sandbox.Handle)), '}')
}

func extrasText(extras []Extra) []byte {
	b := []byte{'['}
	for i, e := range extras {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, '['), quoted(e.Key)...)
		b = append(append(append(b, ','), jsonOf(e.Value)...), ']')
	}
	return append(b, ']')
}
