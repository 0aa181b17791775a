package capabilities

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// RATH-05 to RATH-13, RATH-34 to RATH-38, RATH-41, RATH-48, RATH-50: random
// sequences of fork, detach, merge, compress, append, close and resume, through
// HTTP requests. OpenRath's loader, as written here, loads each exported file; the
// headers, rows, usage and lineage rows are what OpenRath's own objects have.
func TestOpenRathLoadsRandomSessions(t *testing.T) {
	t.Parallel()
	sequences(t, 10, 200, func(c caller) {
		r := &rath{caller: c}
		r.leaf()
		for range 4 + c.rng.IntN(12) {
			r.step()
		}
		for _, s := range r.all {
			r.compare(s)
		}
	})
}

// A rathSession is what OpenRath's Session object has. The zero values of backend,
// spec and handle are None.
type rathSession struct {
	ID       string
	Parents  []string
	Operator string
	Kind     string
	Extras   []any
	Backend  any
	Spec     any
	Handle   any
	Rows     []rathRow
	Usage    *rathUsage
	Closed   bool
}

type rathRow struct {
	Kind    string
	Payload any
}

type rathUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// A rath plays one sequence.
type rath struct {
	caller
	all []*rathSession
}

func (r *rath) step() {
	s := r.any()
	switch r.rng.IntN(9) {
	case 0:
		r.leaf()
	case 1:
		r.fork(s, "fork")
	case 2:
		r.fork(s, "detach")
	case 3:
		r.merge(s, r.any())
	case 4:
		r.compress(s, r.any())
	case 5:
		r.resume(s)
	case 6:
		r.end(s)
	default:
		r.append(s, r.row())
	}
}

func (r *rath) any() *rathSession { return r.all[r.rng.IntN(len(r.all))] }

// leaf imports a file that OpenRath wrote.
func (r *rath) leaf() {
	s := &rathSession{ID: r.uuid(), Operator: "implicit", Kind: "unknown"}
	if r.rng.IntN(2) == 0 {
		s.Operator, s.Kind = "Session.create", "leaf_user"
		s.Extras = []any{[]any{"source", "Session.create"}}
	}
	switch r.rng.IntN(4) {
	case 0:
		s.Backend = "local"
	case 1:
		s.Backend, s.Spec, s.Handle = "opensandbox", map[string]any{"image": "x", "env": map[string]any{"é": "<1>"}}, r.uuid()
	case 2:
		s.Backend, s.Handle = "local", "h-"+r.uuid()[:4]
	}
	lines := []string{jsonText(map[string]any{
		"record_type": "header", "schema_version": 1, "id": s.ID, "created_at": "2026-11-20T22:46:45.567712+00:00",
		"parent_session_ids": []string{}, "lineage_operator": s.Operator, "lineage_kind": s.Kind, "lineage_extras": list(s.Extras),
		"sandbox_backend": s.Backend, "sandbox_spec": s.Spec, "sandbox_handle_id": s.Handle,
	})}
	for i := range r.rng.IntN(5) {
		row := r.row()
		s.Rows = append(s.Rows, row)
		lines = append(lines, jsonText(map[string]any{"record_type": "chunk", "index": i, "kind": row.Kind, "payload": row.Payload}))
	}
	path := "/v1/sessions?dialect=openrath"
	if r.rng.IntN(2) == 0 {
		path, s.Closed, s.Usage = "/v1/import?dialect=openrath", true, r.usage()
		lines = append(lines, trailer(s.Usage, len(s.Rows)))
	}
	status, b := r.try("POST", path, strings.Join(lines, "\n")+"\n")
	if status/100 != 2 {
		r.Fatalf("POST %s answers %d: %s", path, status, b)
	}
	r.all = append(r.all, s)
}

// derived is a session that s.fork, s.detach and the like return: the rows and the
// sandbox of s, and no usage or extras.
func (r *rath) derived(s *rathSession, kind, operator string, parents ...string) *rathSession {
	return &rathSession{
		ID: r.uuid(), Parents: parents, Operator: operator, Kind: kind,
		Backend: s.Backend, Spec: s.Spec, Handle: s.Handle, Rows: append([]rathRow(nil), s.Rows...),
	}
}

func (r *rath) fork(s *rathSession, kind string) {
	child := r.derived(s, "op_fork", "Session.fork", s.ID)
	if kind == "detach" {
		child = r.derived(s, "op_detach", "Session.detach")
	}
	r.do(201, "POST", "/v1/sessions/"+s.ID+"/fork", jsonText(map[string]any{"id": child.ID, "kind": kind, "whole": r.rng.IntN(2) == 0}))
	r.all = append(r.all, child)
}

func (r *rath) merge(a, b *rathSession) {
	m := r.derived(a, "op_merge", "Session.merge", a.ID, b.ID)
	m.Rows = append(m.Rows, b.Rows...)
	m.Usage = sum(a.Usage, b.Usage)
	want := 201
	if a.Handle == nil && b.Handle == nil && a.Backend != b.Backend {
		want = 400
	}
	r.do(want, "POST", "/v1/sessions/"+a.ID+"/merge", jsonText(map[string]any{"id": m.ID, "with": b.ID}))
	if want == 201 {
		r.all = append(r.all, m)
	}
}

// compress is run_session_compress: one row of the user, and the usage of the
// reply alone.
func (r *rath) compress(user, agent *rathSession) {
	s := r.derived(user, "op_session_compress", "run_session_compress", user.ID, agent.ID)
	s.Rows, s.Extras = nil, []any{[]any{"compression.lossy", true}, []any{"compression.rows_out", 1.0}}
	r.create(s, "compress", user.ID, agent.ID)
	r.append(s, rathRow{"user", map[string]any{"content": "in short: " + r.words()}})
	r.end(s)
}

// resume is to_resumable_pair: the rows in a session without origin or usage. Only
// a remote sandbox with a UUID is attached to again.
func (r *rath) resume(s *rathSession) {
	next := r.derived(s, "unknown", "implicit")
	if next.Backend != "opensandbox" {
		next.Handle = nil
	}
	rows := next.Rows
	next.Rows = nil
	r.create(next, "resume", s.ID)
	r.append(next, rows...)
}

func (r *rath) create(s *rathSession, kind string, parents ...string) {
	refs := []any{}
	for _, p := range parents {
		refs = append(refs, map[string]any{"session": p, "kind": kind})
	}
	r.do(201, "POST", "/v1/sessions", jsonText(map[string]any{"id": s.ID, "dialect": "openrath", "parents": refs}))
	r.all = append(r.all, s)
}

// append writes rows without the members that the log fills in. A closed session
// refuses them, as OpenRath's writer does.
func (r *rath) append(s *rathSession, rows ...rathRow) {
	lines := ""
	for _, row := range rows {
		lines += jsonText(map[string]any{"record_type": "chunk", "kind": row.Kind, "payload": row.Payload}) + "\n"
	}
	if lines == "" {
		return
	}
	if s.Closed {
		r.do(400, "POST", "/v1/sessions/"+s.ID+"/entries", lines)
		return
	}
	r.do(200, "POST", "/v1/sessions/"+s.ID+"/entries", lines)
	s.Rows = append(s.Rows, rows...)
}

// end writes the trailer, with the usage that the session has or with more.
func (r *rath) end(s *rathSession) {
	if s.Closed {
		return
	}
	line := `{"record_type": "trailer"}`
	if r.rng.IntN(2) == 0 {
		s.Usage = sum(s.Usage, r.usage())
		line = trailer(s.Usage, len(s.Rows))
	}
	r.do(200, "POST", "/v1/sessions/"+s.ID+"/entries", line+"\n")
	s.Closed = true
}

func trailer(u *rathUsage, rows int) string {
	return jsonText(map[string]any{"record_type": "trailer", "closed_at": "2026-11-20T22:50:45+00:00", "final_chunk_count": rows, "cumulative_usage": u})
}

// compare loads what the log exports, and compares it and the lineage row with s.
func (r *rath) compare(s *rathSession) {
	r.Helper()
	file := r.do(200, "GET", "/v1/sessions/"+s.ID+"/export", "")
	got, err := loadRath(file)
	if err != nil {
		r.Errorf("OpenRath refuses the file of %s: %v\n%s", s.ID, err, file)
		return
	}
	want := *s
	if !s.Closed {
		want.Usage = nil // it is in memory until the trailer has it
	}
	if d := cmp.Diff(normal(want), normal(got)); d != "" {
		r.Errorf("session %s as OpenRath loads it:\n%s\n%s", s.ID, d, file)
	}
	r.compareRow(s)
}

func (r *rath) compareRow(s *rathSession) {
	r.Helper()
	rows := r.do(200, "GET", "/v1/lineage?format=jsonl&direction=ancestors&session="+s.ID, "")
	want := fmt.Sprintf(`{"id": %q, "parent_session_ids": %s, "lineage_operator": %q, "lineage_kind": %q, "lineage_extras": %s, "chunk_count": %d, "cumulative_usage": %s}`,
		s.ID, spaced(list(s.Parents)), s.Operator, s.Kind, spaced(list(s.Extras)), len(s.Rows), spaced(s.Usage))
	for line := range strings.Lines(string(rows)) {
		if strings.HasPrefix(line, `{"id": "`+s.ID) {
			if d := cmp.Diff(want+"\n", line); d != "" {
				r.Errorf("lineage row of %s:\n%s", s.ID, d)
			}
			return
		}
	}
	r.Errorf("no lineage row of %s in:\n%s", s.ID, rows)
}

// spaced is JSON as Python's json.dumps spaces it. The values here have neither
// comma nor colon in texts.
func spaced(v any) string {
	return strings.NewReplacer(",", ", ", ":", ": ").Replace(jsonText(v))
}

// normal gives texts in place of values whose types differ before and after JSON.
func normal(s rathSession) map[string]string {
	return map[string]string{
		"id": s.ID, "parents": jsonText(list(s.Parents)), "operator": s.Operator, "kind": s.Kind, "extras": jsonText(list(s.Extras)),
		"sandbox": jsonText([]any{s.Backend, s.Spec, s.Handle}), "rows": jsonText(list(s.Rows)), "usage": jsonText(s.Usage), "closed": fmt.Sprint(s.Closed),
	}
}

// list is s, and an empty list for nil.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func sum(a, b *rathUsage) *rathUsage {
	if a == nil {
		a, b = b, nil
	}
	if a == nil || b == nil {
		return a
	}
	return &rathUsage{a.Prompt + b.Prompt, a.Completion + b.Completion, a.Total + b.Total}
}

func (r *rath) usage() *rathUsage {
	if r.rng.IntN(4) == 0 {
		return nil
	}
	p, c := r.rng.Int64N(1000), 1+r.rng.Int64N(100)
	return &rathUsage{p, c, p + c}
}

func (r *rath) row() rathRow {
	switch r.rng.IntN(4) {
	case 0:
		return rathRow{"system", map[string]any{"content": r.words()}}
	case 1:
		return rathRow{"assistant", map[string]any{"content": r.words(), "tool_calls": nil}}
	case 2:
		return rathRow{"tool_result", map[string]any{"tool_call_id": "c1", "name": "noop", "content": `{"ok": true}`}}
	}
	return rathRow{"user", map[string]any{"content": r.words()}}
}

func (r *rath) words() string {
	return fmt.Sprintf("%x é \" <&> %d\n日本 🙂", r.rng.Uint32(), r.rng.IntN(9))
}

func (r *rath) uuid() string { return randomUUID(r.rng) }

func randomUUID(rng *rand.Rand) string {
	h := fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// loadRath reads a session file as OpenRath's load_session does: it is strict about
// the order and the kinds of records, lenient about optional members of the header,
// and ignores members that it does not know.
func loadRath(file []byte) (s rathSession, err error) {
	if strings.ContainsAny(string(file), "\u0085\u2028\u2029") {
		return s, fmt.Errorf("a line break inside a record")
	}
	header := false
	for n, line := range strings.SplitAfter(string(file), "\n") {
		if !strings.HasSuffix(line, "\n") || strings.TrimSpace(line) == "" {
			continue // a torn or blank line
		}
		var rec map[string]any
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			return s, fmt.Errorf("line %d: %w", n+1, err)
		}
		switch kind := rec["record_type"]; {
		case kind == "header" && header:
			return s, fmt.Errorf("line %d: duplicate header record", n+1)
		case kind == "header":
			header = true
			err = s.readHeader(rec)
		case !header:
			return s, fmt.Errorf("line %d: %v record before header", n+1, kind)
		case kind == "chunk":
			err = s.readChunk(rec)
		case kind == "trailer":
			err = s.readTrailer(rec)
		default:
			err = fmt.Errorf("unknown record_type=%v", kind)
		}
		if err != nil {
			return s, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if !header {
		return s, fmt.Errorf("no header record found")
	}
	return s, nil
}

func (s *rathSession) readHeader(rec map[string]any) error {
	if rec["schema_version"] != 1.0 {
		return fmt.Errorf("schema_version %v", rec["schema_version"])
	}
	s.ID, _ = rec["id"].(string)
	created, _ := rec["created_at"].(string)
	if at, err := time.Parse(time.RFC3339Nano, created); err != nil || s.ID == "" || at.IsZero() {
		return fmt.Errorf("malformed header record: id %q, created_at %q", s.ID, created)
	}
	s.Operator, _ = rec["lineage_operator"].(string)
	s.Kind, _ = rec["lineage_kind"].(string)
	s.Backend, s.Spec, s.Handle = rec["sandbox_backend"], rec["sandbox_spec"], rec["sandbox_handle_id"]
	s.Extras, _ = rec["lineage_extras"].([]any)
	parents, _ := rec["parent_session_ids"].([]any)
	for _, p := range parents {
		s.Parents = append(s.Parents, fmt.Sprint(p))
	}
	return nil
}

// readChunk also requires the index that OpenRath's writer gives a chunk, which its
// loader does not read.
func (s *rathSession) readChunk(rec map[string]any) error {
	kind, _ := rec["kind"].(string)
	if !strings.Contains(" system user assistant tool_result ", " "+kind+" ") {
		return fmt.Errorf("invalid chunk kind %q", kind)
	}
	if _, ok := rec["payload"].(map[string]any); !ok {
		return fmt.Errorf("chunk payload must be a JSON object")
	}
	if rec["index"] != float64(len(s.Rows)) {
		return fmt.Errorf("chunk %d has the index %v", len(s.Rows), rec["index"])
	}
	s.Rows = append(s.Rows, rathRow{kind, rec["payload"]})
	return nil
}

// readTrailer also requires the number of chunks that OpenRath's writer counts.
func (s *rathSession) readTrailer(rec map[string]any) error {
	s.Closed = true
	if rec["final_chunk_count"] != float64(len(s.Rows)) {
		return fmt.Errorf("final_chunk_count %v after %d chunks", rec["final_chunk_count"], len(s.Rows))
	}
	if rec["cumulative_usage"] == nil {
		s.Usage = nil
		return nil
	}
	s.Usage = &rathUsage{}
	return json.Unmarshal([]byte(jsonText(rec["cumulative_usage"])), s.Usage)
}
