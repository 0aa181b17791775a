package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// heldBy returns a node on which a writer with that life holds main of testID. It
// grants every claim.
func heldBy(t *testing.T, life *session.Life) (f *fakeNode, asked func() []core.ClaimRequest) {
	t.Helper()
	return heldWith(t, mine("w0"), life, "pi")
}

// heldWith is heldBy with that claim, in a session of that agent.
func heldWith(t *testing.T, claim *core.Claim, life *session.Life, agent string) (f *fakeNode, asked func() []core.ClaimRequest) {
	t.Helper()
	f = newFake(t)
	f.Has([]string{testID})
	f.Answers("GET /v1/sessions/"+testID, api.Info{Log: api.LogInfo{Dialect: agent}})
	f.Answers("GET /v1/sessions/"+testID+"/heads", api.Heads{Session: testID, Heads: []api.HeadInfo{
		{Head: "main", Entry: &api.HeadEntry{ID: "e1", Type: "message", Text: "user: hi\x1b"}, Claim: claim, Life: life},
		{Head: "side", Ahead: 2, Behind: 1, Fork: "e0"},
	}})
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderFile, "talk.jsonl")
		w.Header().Set(api.HeaderCursor, "4-0000000000000000")
	})
	var got []core.ClaimRequest
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/claims", func(w http.ResponseWriter, r *http.Request) {
		var q core.ClaimRequest
		_ = json.NewDecoder(r.Body).Decode(&q)
		got = append(got, q)
		_ = json.NewEncoder(w).Encode(api.Claimed{Claim: *mine("w1"), Head: q.Head, Former: claim})
	})
	return f, func() []core.ClaimRequest { return got }
}

func TestResumeRespectsActiveHolder(t *testing.T) {
	t.Parallel()
	seen := time.Now().Add(-3 * time.Second)
	for _, life := range []session.Life{{State: session.LifeAlive, Seen: seen}, {State: session.LifeNew, Seen: seen}} {
		f, asked := heldBy(t, &life)
		got := f.run("resume", testID, "--dir", t.TempDir())
		wantResult(t, got, cli.ExitFenced, "", `head "main" of session `+testID+" is held by pi on a-host")
		for _, want := range []string{"s ago", "hint: ask the holder to end first, or take it over with: sessctl resume --take-over " + testID} {
			if !strings.Contains(got.err, want) {
				t.Errorf("%s: lacks %q:\n%s", life.State, want, got.err)
			}
		}
		if len(asked()) > 0 {
			t.Fatalf("%s: claims were requested: %+v", life.State, asked())
		}
		wantResult(t, f.run("resume", testID, "--dir", t.TempDir(), "--take-over"), 0, "its next write will be refused", "")
		if q := asked(); len(q) != 1 || !q[0].TakeOver || q[0].From != "" {
			t.Errorf("requested %+v", q)
		}
	}
}

// The request names the holder, so that no other one is fenced.
func TestResumeTakesOverFromSilentHolder(t *testing.T) {
	t.Parallel()
	for _, life := range []session.Life{{State: session.LifeSilent, Seen: time.Unix(1, 0)}, {State: "unknown"}} {
		f, asked := heldBy(t, &life)
		said := map[session.Life]string{}
		said[life] = "taken over from pi on a-host, "
		wantResult(t, f.run("resume", testID, "--dir", t.TempDir()), 0, said[life], "")
		if q := asked(); len(q) != 1 || !q[0].TakeOver || q[0].From != "w0" {
			t.Errorf("%s: requested %+v", life.State, q)
		}
	}
}

func TestResumeTakesOverOwnClaimUnlessActive(t *testing.T) {
	t.Parallel()
	for state, code := range map[string]int{"new": 0, "unknown": 0, "silent": 0, "alive": cli.ExitFenced} {
		life := session.Life{Seen: time.Now()}
		_ = json.Unmarshal([]byte(`"`+state+`"`), &life.State)
		f, _ := heldBy(t, &life)
		a := testApp(map[string]string{"HOME": f.home})
		if err := a.Claims().Save(agent.StoredClaim{Session: testID, Head: "main", Writer: "w0"}); err != nil {
			t.Fatal(err)
		}
		if got := f.run("resume", testID, "--dir", t.TempDir()); got.code != code {
			t.Errorf("%s: exit code %d, want %d: %s", state, got.code, code, got.err)
		}
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	f, _ := heldBy(t, &session.Life{State: session.LifeAlive, Seen: time.Now().Add(time.Hour)}) // in the future: shown as 0s ago, however long the test takes
	wantResult(t, f.run("heads", testID), 0, `HEAD  AT    FROM MAIN  HELD BY                        TYPE     TEXT
main  e1               pi@a-host, alive, seen 0s ago  message  user: hi␛
side  none  +2 -1      no writer`, "")
	wantResult(t, f.run("heads", testID, "-o", "json"), 0, `"head":"side","leaf":{},"seq":0,"fork":"e0","ahead":2,"behind":1}]}`, "")
}

func TestPs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Mux.HandleFunc("GET /v1/presence", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"present":[
			{"id":"n-1","agent":"n1","host":"a","since":"2001-01-01T00:00:00Z","kind":"node","seen":"2001-01-01T00:00:00Z","alive":true},
			{"id":"w-1","by":"ann\u001b","since":"2001-01-01T00:00:00Z","kind":"writer","seen":"2001-02-03T00:00:00Z","alive":false,
			 "holds":[{"session":"s-1","head":"main","writer":"w"},{"session":"s-2","head":"side","writer":"v"}]}]}`))
	})
	wantResult(t, f.run("ps"), 0, `KIND    WHO   HOST  SINCE       STATE                    HOLDS
node    n1    a     2001-01-01  alive                    -
writer  ann␛  none  2001-01-01  silent since 2001-02-03  s-1@main
                                                         s-2@side
`, "")
	wantResult(t, f.run("ps", "-o", "json"), 0, `[{"id":"n-1","agent":"n1"`, "")
}

func TestResumeRespectsHolderOfUnknownState(t *testing.T) {
	t.Parallel()
	f, asked := heldBy(t, nil)
	got := f.run("resume", testID, "--dir", t.TempDir())
	wantResult(t, got, cli.ExitFenced, "", "whether the holder is active is unknown")
	if len(asked()) > 0 || !strings.Contains(got.err, "resume --take-over") {
		t.Errorf("requested %+v, and printed %s", asked(), got.err)
	}
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir(), "--take-over"), 0, "its next write will be refused", "")
}
