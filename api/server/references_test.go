package server_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

var allMutants = flag.Bool("all-mutants", false, "try every hostile file, not one of 13")

// foreignImage is what a caller for other sessions must never get.
var foreignImage = []byte(strings.Repeat("foreign pixels ", 100))

// reads are the calls that answer with lines of a session, or with what is made of
// them.
func reads() []string {
	paths := []string{"/context", "/entries", "/state", "/export", "/export?packed=true", "/file", "/events?wait=false", "/context?profile=omp"}
	for _, d := range slices.Sorted(maps.Keys(dialect.All())) {
		paths = append(paths, "/export?as="+d)
	}
	return paths
}

// A caller that knows the digest of another session's image can write it in any
// member of a line. No call inserts the image, in a line of the caller, or of a
// merge, a fork or a conversion.
func TestTextNeverBecomesForeignImage(t *testing.T) {
	t.Parallel()
	n := startNode(t, withTokens)
	n.importText(t, file(strings.ReplaceAll(header, "session-one", "other-000001"), imageEntry("a", base64.StdEncoding.EncodeToString(foreignImage))))
	bearer := n.create(t, api.TokenRequest{Name: "ours", Scope: access.Write, Prefix: "ours-"}).Bearer
	ask := func(method, path, kind, body string) (int, string) {
		res, text := n.request(t, method, path, body, "Authorization", "Bearer "+bearer, "Content-Type", kind)
		return res.StatusCode, text
	}
	foreign := base64.StdEncoding.EncodeToString(foreignImage)
	ref := "blob:" + core.DigestOf(foreignImage).String()
	check := func(t *testing.T, id, what string) {
		t.Helper()
		for _, path := range reads() {
			if _, body := ask("GET", "/v1/sessions/"+id+path, "", ""); strings.Contains(body, foreign[:200]) || strings.Contains(body, string(foreignImage[:100])) {
				t.Errorf("%s: GET %s inserts the image of another session", what, path)
			}
		}
	}
	stored := 0
	for _, name := range slices.Sorted(maps.Keys(dialect.All())) {
		whole := sampleOf(t, n, name)
		for i, hostile := range mutants(whole, ref) {
			if !*allMutants && i%13 != 0 {
				continue
			}
			id := fmt.Sprintf("ours-%s-%06d", name, i)
			hostile = strings.ReplaceAll(hostile, "session-one", id)
			if status, _ := ask("POST", "/v1/import?dialect="+name, "application/x-ndjson", hostile); status != http.StatusOK {
				continue // the agent could not read it
			}
			stored++
			check(t, id, name+": import of "+hostile)
			for how, body := range map[string]string{"fork": `{"branched":true,"id":"%s"}`, "merge": `{"with":"` + id + `","id":"%s"}`} {
				made := "ours-" + how + "-" + id
				if status, _ := ask("POST", "/v1/sessions/"+id+"/"+how, "application/json", fmt.Sprintf(body, made)); status == http.StatusCreated {
					check(t, made, name+": "+how+" of "+hostile)
				}
			}
		}
	}
	if stored < 20 {
		t.Errorf("only %d hostile files were stored", stored)
	}
}

func imageEntry(id, data string) string {
	return `{"type":"message","id":"` + id + `","parentId":null,"timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"user","content":[{"type":"image","data":"` + data + `","mimeType":"image/png"}],"timestamp":2}}`
}

// sampleOf returns a session as a file of a dialect, with the id session-one.
func sampleOf(t *testing.T, n *node, name string) string {
	t.Helper()
	if name == "nova" { // which has no messages
		return novaSample
	}
	own := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("own pixels ", 100)))
	n.importText(t, file(strings.ReplaceAll(header, "session-one", "sample-"+name),
		message("a", "", "a question"),
		`{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"an answer"},{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"x"}}],"timestamp":2}}`,
		`{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-02T03:04:08.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[{"type":"text","text":"a result"},{"type":"image","data":"`+own+`","mimeType":"image/png"}],"timestamp":3}}`))
	res, body := n.request(t, "GET", "/v1/sessions/sample-"+name+"/export?as="+name, "", "Authorization", "Bearer the-bootstrap-token")
	if res.StatusCode != http.StatusOK {
		t.Logf("no sample: export as %s: %d %s", name, res.StatusCode, body)
		return ""
	}
	f, _, err := dialect.Read(name, []byte(body))
	if err != nil {
		t.Logf("no sample of %s: %v", name, err)
		return ""
	}
	return strings.ReplaceAll(body, f.Header.ID, "session-one")
}

// mutants returns copies of a file in which every member of some name is ref, an
// image with ref as its data, or one with escapes, and copies with a member more in
// every object.
func mutants(file, ref string) (out []string) {
	names := map[string]bool{"image": true, "data": true, "type": false}
	lines := strings.Split(strings.TrimSpace(file), "\n")
	var docs []any
	for _, line := range lines {
		var v any
		if json.Unmarshal([]byte(line), &v) != nil {
			return mutantsOfText(file, ref)
		}
		docs = append(docs, v)
		eachName(v, func(name string) { names[name] = true })
	}
	image := map[string]any{"type": "image", "data": ref, "mimeType": "image/png", "mime_type": "image/png"}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if name == "id" || name == "parentId" || name == "type" || name == "version" {
			continue
		}
		for _, value := range []any{ref, image, []any{image}} {
			for _, add := range []bool{false, true} {
				var b strings.Builder
				for _, doc := range docs {
					line, _ := json.Marshal(changed(doc, name, value, add))
					b.Write(line)
					b.WriteByte('\n')
				}
				out = append(out, b.String(), strings.ReplaceAll(b.String(), `"blob:`, `"\u0062lob:`))
			}
		}
	}
	return out
}

func mutantsOfText(file, ref string) []string {
	return []string{strings.ReplaceAll(file, "a question", ref), strings.ReplaceAll(file, "a result", ref)}
}

func eachName(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			f(name)
			eachName(member, f)
		}
	case []any:
		for _, member := range v {
			eachName(member, f)
		}
	}
}

// changed returns a copy of v with value as every member called name, also in
// objects without one if add is set.
func changed(v any, name string, value any, add bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, member := range v {
			out[k] = changed(member, name, value, add)
		}
		if _, has := v[name]; has || add {
			out[name] = value
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = changed(v[i], name, value, add)
		}
		return out
	}
	return v
}

const novaSample = `{"session_id":"session-one","created_at":"2026-01-02T03:04:05","key_decisions":["a question"],"metrics":{"turns":1},"context":{"a":"b"}}`
