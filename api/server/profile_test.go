package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// The caller names the rules by which a session is read. The session's state in the
// log does not change.
func TestCallerChoosesProfile(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "1"),
		`{"type":"context_edit","id":"e","parentId":"a","timestamp":"2026-01-02T03:04:07.000Z","targetId":"a","replacement":null}`,
		`{"type":"label","id":"l","parentId":"e","timestamp":"2026-01-02T03:04:08.000Z","targetId":"a","label":"x"}`))
	own, err := n.Info(t.Context(), "session-one")
	if err != nil || !strings.Contains(string(own.Own), `"model":null`) {
		t.Fatalf("own %s, %v", own.Own, err)
	}
	for profile, want := range map[string]struct {
		context, own string
		stamped      bool
	}{
		"":        {`{"messages":[],`, `"model":null`, true},
		"pi":      {`{"messages":[],`, `"model":null`, true},
		"pi@0.73": {`{"messages":[{`, `"model":null`, true},
		"omp":     {`{"messages":[{`, `"mode":"none"`, false},
	} {
		context, err := n.Context(t.Context(), "session-one", client.View{Profile: profile})
		if err != nil || !strings.HasPrefix(string(context), want.context) {
			t.Errorf("%q: context %s, %v", profile, context, err)
		}
		info, err := n.InfoBy(t.Context(), "session-one", profile)
		if err != nil || !strings.Contains(string(info.Own), want.own) || info.Log.Dialect != "pi" || info.Log.Cursor != own.Log.Cursor {
			t.Errorf("%q: info %+v, own %s, %v", profile, info, info.Own, err)
		}
		tree, err := n.TreeBy(t.Context(), "session-one", profile)
		if err != nil || len(tree) != 3 || *tree[0].Label != "x" || (tree[0].LabelTimestamp != nil) != want.stamped {
			t.Errorf("%q: tree %+v, %v", profile, tree, err)
		}
	}
	for _, rest := range []string{"", "/tree", "/context"} {
		r, body := n.request(t, "GET", "/v1/sessions/session-one"+rest+"?profile=vim", "")
		if r.StatusCode != 400 || !strings.Contains(body, "operator, operator@request, pi, pi@0.73") {
			t.Errorf("%s: %d %s", rest, r.StatusCode, body)
		}
	}
	if _, err := n.InfoBy(t.Context(), "session-one", "a b&c"); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
}
