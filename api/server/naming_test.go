package server_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core"
)

// A place is where a request can name a thing.
type place struct{ in, name string }

// A probe is one request.
type probe struct {
	method, path, kind, body string
	header                   http.Header
}

// text returns all that the request says.
func (p probe) text() string {
	path, _ := url.PathUnescape(p.path)
	query, _ := url.QueryUnescape(p.path)
	return fmt.Sprint(path, query, p.body, p.header)
}

// placesOf returns every place of a call, from its path and its description.
func placesOf(pattern string) (out []place) {
	_, path, _ := strings.Cut(pattern, " ")
	for part := range strings.SplitSeq(path, "/") {
		if name := strings.Trim(part, "{}"); name != part {
			out = append(out, place{"path", name})
		}
	}
	c := calls[pattern]
	for _, p := range c.query {
		out = append(out, place{"query", p.name})
	}
	if pattern == "PUT /v1/stream/{path...}" { // another protocol describes it
		out = append(out, place{"header", "Stream-Forked-From"})
	}
	for _, p := range c.header {
		out = append(out, place{"header", p.name})
	}
	for _, v := range slices.Concat([]any{}, bodiesOf(c.in)) {
		for _, name := range membersOf(v) {
			out = append(out, place{"body", name})
		}
	}
	return out
}

func bodiesOf(in any) []any {
	switch in := in.(type) {
	case nil:
		return nil
	case []any:
		var all []any
		for _, one := range in {
			all = append(all, bodiesOf(one)...)
		}
		return all
	case media:
		return bodiesOf(in.each)
	}
	return []any{in}
}

// membersOf returns the members of a body that can be a text or a list.
func membersOf(v any) (names []string) {
	t := reflect.TypeOf(v)
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if kind := t.Field(i).Type.Kind(); name != "" && name != "-" && kind != reflect.Bool && kind != reflect.Int {
			names = append(names, name)
		}
	}
	return names
}

// bases are the members of the bodies of calls without which they do nothing. {new} is
// the id of a new session.
var bases = map[string]string{
	"POST /v1/sessions":                       `{"id":"{new}"}`,
	"POST /v1/sessions/{id}/fork":             `{"id":"{new}"}`,
	"POST /v1/sessions/{id}/merge":            `{"id":"{new}","with":"ours-shared"}`,
	"POST /v1/sessions/{id}/branch":           `{"at":{"id":"ours-entry"}}`,
	"POST /v1/sessions/{id}/labels":           `{"target":"ours-entry","label":"l"}`,
	"POST /v1/sessions/{id}/name":             `{"name":"n"}`,
	"POST /v1/sessions/{id}/reactions":        `{"message":"ours-entry","emoji":"e"}`,
	"PUT /v1/sessions/{id}/heads/{head}":      `{"leaf":{"id":"ours-entry"}}`,
	"POST /v1/sessions/{id}/claims":           `{"takeOver":true}`,
	"PUT /v1/presence/{id}":                   `{"agent":"a"}`,
	"POST /v1/import":                         strings.ReplaceAll(file(header, message("ours-entry", "", "ours")), "session-one", "{new}"),
	"PUT /v1/blobs/{digest}":                  "",
	"PATCH /v1/sessions/{id}/entries":         message("ours-entry", "", "ours again"),
	"PATCH /v1/sessions/{id}/entries/{entry}": message("ours-entry", "", "ours again"),
	"PUT /v1/stream/{path...}":                "",
}

var newSessions atomic.Int64

// forms are the ways in which a member of a body can name a value.
var forms = []string{`%q`, `[%q]`, `[{"session":%q}]`, `{"id":%q}`}

// probeOf returns a request of a call that names value in a place, in one of the
// forms that a body can have. Without a place, it names nothing besides session.
func probeOf(pattern, session string, at place, value string, form int) probe {
	method, path, _ := strings.Cut(pattern, " ")
	p := probe{method: method, header: http.Header{}}
	named := map[string]string{
		"id": session, "entry": "ours-entry", "head": "main", "name": "n", "shard": "0", "token": "aaaaaaaaaaaa",
		"digest": core.DigestOf(nil).String(), "path...": session,
	}
	query := url.Values{}
	for _, q := range calls[pattern].query {
		if q.required {
			query.Set(q.name, "needle")
		}
		if q.name == "wait" {
			query.Set(q.name, "false")
		}
	}
	switch {
	case pattern == "GET /v1/prompts":
		query.Set("session", session)
	case pattern == "POST /v1/import" && (at.name == "parent" || at.name == "kind"): // one asks for the other
		query.Set("parent", session)
		query.Set("kind", "fork")
	}
	switch at.in {
	case "path":
		named[at.name] = url.PathEscape(value)
	case "query":
		query.Set(at.name, value)
	case "header":
		p.header.Set(at.name, value)
	}
	if at.name == "Stream-Forked-From" {
		named["path..."] = fmt.Sprintf("%s-%d", session, newSessions.Add(1))
	}
	for name, v := range named {
		path = strings.ReplaceAll(path, "{"+name+"}", v)
	}
	if p.path = path; len(query) > 0 {
		p.path += "?" + query.Encode()
	}
	base, hasBase := bases[pattern]
	base = strings.ReplaceAll(base, "{new}", fmt.Sprintf("%s-%d", session, newSessions.Add(1)))
	switch in := calls[pattern].in.(type) {
	case nil:
	case media:
		p.kind = in.kind
		if strings.Contains(pattern, " /v1/stream/") {
			p.kind = "text/plain"
		}
		p.body = message("probe", "", "text")
	default:
		p.kind, p.body = "application/json", "{}"
	}
	if hasBase {
		p.body = base
	}
	if at.in == "body" {
		member := json.RawMessage(fmt.Sprintf(forms[form], value))
		members := map[string]json.RawMessage{}
		_ = json.Unmarshal([]byte(base), &members) // of lines nothing remains
		if !strings.HasPrefix(base, "{") || strings.Contains(base, "\n") {
			clear(members)
		}
		members[at.name] = member
		body, _ := json.Marshal(members)
		p.kind, p.body = "application/json", string(body)
		if strings.Contains(fmt.Sprint(calls[pattern].in), api.PartsType) && at.name == "parts" {
			p.kind = api.PartsType
		}
	}
	return p
}

// probesOf returns the requests of a call that name values in a place.
func probesOf(pattern, session string, at place, values []string) (out []probe) {
	for _, value := range values {
		out = append(out, probeOf(pattern, session, at, value, 0))
		for form := 1; at.in == "body" && form < len(forms); form++ {
			out = append(out, probeOf(pattern, session, at, value, form))
		}
	}
	return out
}

// Tries every call with every way to name a thing of a session that the caller may
// not use: by id, prefix, digest, reference, cursor, entry, writer, snapshot and
// part, in every parameter of the call's description and in every member of its
// body. No answer has anything of that session but what the request itself said. The
// statuses are in testdata/naming.golden, after those of a request that names only what
// the caller may use, without which the others would say nothing; review every change to
// it. A new call or parameter changes the file.
func TestNoWayToNameForeignThings(t *testing.T) {
	t.Parallel()
	n := startWhole(t)
	foreign, secrets := foreignThings(t, n)
	n.makeLong(t, "ours-shared")
	create := func(name string, scope access.Scope, prefix string) string {
		return n.create(t, api.TokenRequest{Name: name, Scope: scope, Prefix: prefix}).Bearer
	}
	share := n.shareOf(t, "ours-shared", "ours-entry").Bearer
	tokens := []string{create("or", access.Read, "ours-"), create("ow", access.Write, "ours-"), share}
	ofStreams := []string{create("dr", access.Read, "ds-ours-"), create("dw", access.Write, "ds-ours-"), share}
	patterns := server.RoutePatterns()
	rows := make([]string, len(patterns))
	controls := 0 // answers to a caller with every right that have something of that session
	var mu sync.Mutex
	try := func(i int) {
		pattern, session, said := patterns[i], fmt.Sprintf("ours-%06d", i), ""
		n.makeLong(t, session)
		seen, tokens := 0, tokens
		if strings.Contains(pattern, " /v1/stream/") {
			tokens = ofStreams
			n.makeStream(t, session, "ours")
		}
		for _, at := range placesOf(pattern) {
			var statuses [3][]string
			for _, p := range probesOf(pattern, session, at, foreign) {
				said += p.text() // and so may be in later answers
				tells := func(answer string) (secret string) {
					j := slices.IndexFunc(secrets, func(s string) bool { return strings.Contains(answer, s) && !strings.Contains(said, s) })
					if j < 0 {
						return ""
					}
					return secrets[j]
				}
				for k, bearer := range tokens {
					status, answer := p.send(t, n, bearer)
					statuses[k] = append(statuses[k], fmt.Sprint(status))
					if secret := tells(answer); secret != "" {
						t.Errorf("%s %s %s %v: the answer %d has %.60q", p.method, p.path, p.body, p.header, status, secret)
					}
				}
				if p.method == http.MethodGet {
					if _, answer := p.send(t, n, "the-bootstrap-token"); tells(answer) != "" {
						seen++
					}
				}
			}
			rows[i] += fmt.Sprintf("%-44s %-6s %-16s read %-20s write %-20s share %s\n", pattern, at.in, at.name, distinct(statuses[0]), distinct(statuses[1]), distinct(statuses[2]))
		}
		var own [3]int // answers to a request that names nothing of that session
		for _, k := range []int{0, 2, 1} {
			own[k], _ = probeOf(pattern, session, place{}, "", 0).send(t, n, tokens[k])
		}
		rows[i] = fmt.Sprintf("%-44s %-23s read %-20d write %-20d share %d\n", pattern, "its own", own[0], own[1], own[2]) + rows[i]
		mu.Lock()
		defer mu.Unlock()
		controls += seen
	}
	// Reading comes first: lists have what the other calls write.
	for _, reading := range []bool{true, false} {
		var g errgroup.Group
		g.SetLimit(8)
		for i, pattern := range patterns {
			if strings.HasPrefix(pattern, "GET ") == reading {
				g.Go(func() error { try(i); return nil })
			}
		}
		_ = g.Wait()
	}
	if controls < 50 {
		t.Errorf("a caller with every right sees something in %d answers; the test checks nothing", controls)
	}
	golden(t, "testdata/naming.golden", strings.Join(rows, ""))
}

func distinct(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ",")
}

// makeLong creates a session with more records than the foreign one has.
func (n *node) makeLong(t *testing.T, id string) {
	t.Helper()
	if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
		t.Error(err)
	}
	for i := range 6 {
		line := message(fmt.Sprintf("ours%04d", i), "", "ours")
		if i == 0 {
			line = message("ours-entry", "", "ours")
		}
		if _, err := n.Append(t.Context(), id, []byte(line), client.AppendOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// makeStream creates a durable stream.
func (n *node) makeStream(t *testing.T, path, body string) {
	t.Helper()
	create := probe{method: http.MethodPut, path: "/v1/stream/" + path, kind: "text/plain", body: body}
	if status, answer := create.send(t, n, "the-bootstrap-token"); status != http.StatusCreated {
		t.Errorf("stream %s: %d %s", path, status, answer)
	}
}

// foreignThings makes a session with everything that a request can name. It returns
// the names, and what no answer may have.
func foreignThings(t *testing.T, n *node) (names, secrets []string) {
	t.Helper()
	const id = "other-000001"
	n.makeStream(t, "other-stream", "a purple needle")
	image := base64.StdEncoding.EncodeToString(foreignImage)
	n.importText(t, file(strings.NewReplacer("session-one", id, "/home/dev/x", "/home/foreign").Replace(header),
		imageEntry("foreign-entry", image), message("foreign-second", "foreign-entry", "a purple needle"), "no entry, so the file is kept"))
	part := []byte(api.PartMark + file(strings.ReplaceAll(header, "session-one", "ours-stolen"), message("stolen", "", "a purple needle")))
	if err := n.PutBlob(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	claim, err := n.Claim(t.Context(), id, core.ClaimRequest{By: "foreigner", Agent: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := n.Checkpoint(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	info, err := n.Info(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	key := snapshot.Object[strings.LastIndexByte(snapshot.Object, '/')+1:]
	digest := core.DigestOf(foreignImage).String()
	names = []string{
		id, "other-", "foreign-entry", digest, "blob:" + digest, info.Log.Origin.Original.String(), core.DigestOf(part).String(),
		info.Log.Cursor.String(), claim.Writer, key, "/home/foreign", "needle", "other-stream",
	}
	secrets = []string{
		id, "foreign", "purple needle", image[:100], string(foreignImage[:100]), digest, info.Log.Origin.Original.String(),
		info.Log.Cursor.String(), claim.Writer, key, "ours-stolen", "other-stream",
	}
	return names, secrets
}

// isStream reports whether a successful answer may never end.
func (p probe) isStream() bool {
	path, _, _ := strings.Cut(p.path, "?")
	return p.method == http.MethodGet && (strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/changes"))
}

// send sends a request and returns the status and all of the answer. It gives up
// streams that do not end.
func (p probe) send(t *testing.T, n *node, bearer string) (int, string) {
	t.Helper()
	wait := 30 * time.Second
	if p.isStream() {
		wait = 50 * time.Millisecond
	}
	for {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		req, err := http.NewRequestWithContext(ctx, p.method, n.Base+p.path, strings.NewReader(p.body))
		if err != nil {
			cancel()
			return 0, ""
		}
		if req.Header = p.header.Clone(); req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header.Set("Authorization", "Bearer "+bearer)
		if p.kind != "" {
			req.Header.Set("Content-Type", p.kind)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil { // a slow machine has not even begun to answer
			cancel()
			if wait *= 4; wait > 10*time.Minute || t.Context().Err() != nil {
				t.Errorf("%s %s: %v", p.method, p.path, err)
				return 0, ""
			}
			continue
		}
		body, _ := io.ReadAll(res.Body) // a stream ends with the context
		_ = res.Body.Close()
		cancel()
		return res.StatusCode, fmt.Sprint(res.Header, string(body))
	}
}
