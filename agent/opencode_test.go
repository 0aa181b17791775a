package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/internal/testkit"
)

// fakeOpencode names the file in which the fake opencode keeps its events.
const fakeOpencode = "SESSLOG_FAKE_OPENCODE"

// TestFakeOpencode is not a test: it is the server that installOpencode installs.
// Like opencode it ignores events that it has, and refuses others and gaps.
func TestFakeOpencode(t *testing.T) {
	name := os.Getenv(fakeOpencode)
	if name == "" {
		t.Skip("it is the server of other tests")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("opencode server listening on http://%s\n", l.Addr())
	var mu sync.Mutex
	t.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, password, _ := q.BasicAuth()
		var have, body struct{ Events []json.RawMessage }
		data, _ := os.ReadFile(name)
		_ = json.Unmarshal(data, &have)
		_ = json.NewDecoder(q.Body).Decode(&body)
		switch {
		case password == "" || password != os.Getenv("OPENCODE_SERVER_PASSWORD"):
			w.WriteHeader(http.StatusUnauthorized)
		case q.URL.Path == "/project/current":
			fmt.Fprint(w, `{"id":"p1","worktree":"/"}`)
		case q.URL.Path == "/sync/history":
			_ = json.NewEncoder(w).Encode(have.Events)
		default:
			for _, raw := range body.Events {
				var is, was struct {
					ID  string
					Seq int
				}
				_ = json.Unmarshal(raw, &is)
				if is.Seq < len(have.Events) {
					if _ = json.Unmarshal(have.Events[is.Seq], &was); is.ID != was.ID {
						w.WriteHeader(http.StatusInternalServerError)
						return
					}
					continue
				}
				have.Events = append(have.Events, raw)
			}
			data, _ := json.Marshal(have)
			_ = os.WriteFile(name, data, 0o600)
		}
	})))
}

// installOpencode puts the fake opencode into PATH. It returns the file of its
// events.
func installOpencode(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake opencode is a shell script")
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -test.run='^TestFakeOpencode$'\n", os.Args[0])
	if err := os.WriteFile(filepath.Join(dir, "opencode"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	name := filepath.Join(dir, "events")
	t.Setenv(fakeOpencode, name)
	return name
}

const replayID = "ses_0000000000ffeAAAAAAAAAAAAAA"

func opencodeEvent(seq int, kind, data string) string {
	return fmt.Sprintf(`{"id":"evt_%d","aggregate_id":%q,"seq":%d,"type":%q,"data":{"sessionID":%q,%s}}`, seq, replayID, seq, kind, replayID, data)
}

var opencodeEvents = []string{
	opencodeEvent(0, "session.created.1", `"info":{"id":"`+replayID+`","directory":"/gone","path":"gone","title":"t","time":{"created":1,"updated":1}}`),
	opencodeEvent(1, "message.updated.1", `"info":{"id":"msg_1","role":"user","time":{"created":2}}`),
	opencodeEvent(2, "message.part.updated.1", `"part":{"id":"prt_1","messageID":"msg_1","type":"text","text":"hi"}`),
}

// An opencodeNode has a session of opencode.
type opencodeNode struct {
	fakeNode
	events []string
}

func (n *opencodeNode) File(context.Context, string, string) (io.ReadCloser, client.Place, error) {
	return io.NopCloser(strings.NewReader("")), client.Place{Dialect: "opencode"}, nil
}

func (n *opencodeNode) ExportPacked(context.Context, string) (io.ReadCloser, error) {
	f, err := opencode.Dialect{}.File([]byte("[" + strings.Join(n.events, ",") + "]"))
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(core.Lines(f.Header.Before(f.Entries)))), nil
}

func (n *opencodeNode) Import(_ context.Context, r io.Reader, _ int64, _ client.ImportOptions) (api.Imported, error) {
	var list []json.RawMessage
	if err := json.NewDecoder(r).Decode(&list); err != nil {
		return api.Imported{}, err
	}
	for _, raw := range list[1:] { // the first is the last that the log has
		n.events = append(n.events, string(raw))
	}
	return api.Imported{}, nil
}

func resumeOpencode(t *testing.T, n *opencodeNode, o ResumeOptions) (*Resumed, error) {
	t.Helper()
	o.Head = core.MainHead
	return Resume(t.Context(), testHost(map[string]string{"HOME": t.TempDir()}), n, replayID, o)
}

func TestResumePutsEventsIntoOpencode(t *testing.T) {
	name := installOpencode(t)
	n, dir := &opencodeNode{events: opencodeEvents}, t.TempDir()
	r, err := resumeOpencode(t, n, ResumeOptions{CWD: dir})
	if err != nil {
		t.Fatal(err)
	}
	if r.Path != replayID || r.Dir != dir || len(n.claims) != 1 || n.claims[0].Agent != "opencode" {
		t.Errorf("%+v, claims %+v", r, n.claims)
	}
	put, _ := os.ReadFile(name)
	for _, want := range []string{`"aggregateID":"` + replayID + `"`, `"directory":"` + dir + `"`, `"seq":2`, `"text":"hi"`} {
		if !strings.Contains(string(put), want) {
			t.Errorf("opencode lacks %s: %s", want, put)
		}
	}
	if again, err := resumeOpencode(t, n, ResumeOptions{CWD: dir, ClaimOptions: ClaimOptions{TakeOver: true}}); err != nil || again.Imported != nil {
		t.Errorf("the second time: %+v, %v", again, err)
	}
}

func TestResumeImportsLocalEvents(t *testing.T) {
	name := installOpencode(t)
	n := &opencodeNode{events: opencodeEvents}
	later := opencodeEvent(3, "message.removed.1", `"messageID":"msg_1"`)
	testkit.WriteFile(t, name, []byte(`{"events":[`+strings.Join(append(opencodeEvents[:3:3], later), ",")+`]}`))
	r, err := resumeOpencode(t, n, ResumeOptions{CWD: t.TempDir()})
	if err != nil || r.Imported == nil || len(n.events) != 4 || n.events[3] != later {
		t.Errorf("%+v, %v: the log has %q", r, err, n.events)
	}
}

func TestResumeKeepsOtherEvents(t *testing.T) {
	name := installOpencode(t)
	other := `{"events":[` + strings.Replace(opencodeEvents[0], "evt_0", "evt_other", 1) + `]}`
	testkit.WriteFile(t, name, []byte(other))
	_, err := resumeOpencode(t, &opencodeNode{events: opencodeEvents}, ResumeOptions{CWD: t.TempDir()})
	if !errors.Is(err, core.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	if now, _ := os.ReadFile(name); string(now) != other {
		t.Errorf("opencode has %s", now)
	}
}

func TestResumeOfOpencodeChecksBeforeItClaims(t *testing.T) {
	n := &opencodeNode{events: opencodeEvents}
	t.Setenv("PATH", t.TempDir())
	for what, o := range map[string]ResumeOptions{
		"a directory that is gone":    {},
		"no opencode":                 {CWD: t.TempDir()},
		"a command that is to follow": {CWD: t.TempDir(), Start: true},
	} {
		if r, err := resumeOpencode(t, n, o); err == nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
	if r, err := resumeOpencode(t, n, ResumeOptions{CWD: t.TempDir(), DryRun: true}); err != nil || r.Path != replayID {
		t.Errorf("dry run: %+v, %v", r, err)
	}
	if len(n.claims) > 0 {
		t.Errorf("claimed %+v", n.claims)
	}
}
