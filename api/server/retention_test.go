package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/session/catalog"
)

// old imports a session that was last modified on the given day of 2026-01.
func (n *node) old(t *testing.T, id, cwd string, day int) {
	t.Helper()
	at := fmt.Sprintf("2026-01-%02dT03:04:05.000Z", day)
	n.importText(t, file(fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%q}`, id, at, cwd),
		fmt.Sprintf(`{"type":"message","id":"a","parentId":null,"timestamp":%q,"message":{"role":"user","content":"hi"}}`, at)))
}

func TestRetentionPlanIsAppliedExactly(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ctx := t.Context()
	for day := 1; day <= 6; day++ {
		n.old(t, fmt.Sprintf("session-%d", day), "/w", day)
	}
	n.old(t, "other-01", "/x", 1)
	if err := n.Hold(ctx, "session-2", reason); err != nil {
		t.Fatal(err)
	}
	plan, err := n.Plan(ctx, report.Policy{Rules: []report.Rule{{Name: "few", Keep: 2, Per: "cwd"}}})
	if err != nil || len(plan.Items) != 3 || plan.ID == "" || plan.More {
		t.Fatalf("%+v, %v", plan, err)
	}
	for i, want := range []core.SessionID{"session-1", "session-3", "session-4"} { // 2 is held, and the others are kept
		if it := plan.Items[i]; it.Session != want || it.Do != "delete" || !strings.Contains(it.Why, "few: more than the 2") {
			t.Errorf("item %d is %+v", i, it)
		}
	}
	if list, err := n.List(ctx, catalog.Filter{Deleted: true}); err != nil || len(list.Sessions) != 0 {
		t.Errorf("planning changed something: %+v, %v", list, err)
	}

	n.say(t, "session-3", "bbbbbbbb", "still at work")
	if _, err := n.Checkpoint(ctx, "session-4"); err != nil { // which changes nothing
		t.Fatal(err)
	}
	forged := plan
	forged.Items = append(forged.Items[:0:0], plan.Items...)
	forged.Items[0].Session = "session-6"
	if _, err := n.Apply(ctx, api.ApplyRequest{Notice: reason, Plan: forged}); detail(t, err).Code != "invalid" {
		t.Errorf("a modified plan: %v", err)
	}
	if _, err := n.Apply(ctx, api.ApplyRequest{Plan: plan}); detail(t, err).Code != "invalid" {
		t.Errorf("without a reason: %v", err)
	}
	out, err := n.Apply(ctx, api.ApplyRequest{Notice: reason, Plan: plan})
	if err != nil || out.Done != 2 || out.Outcomes[1].Done || !strings.Contains(out.Outcomes[1].Left, "changed since the plan") {
		t.Fatalf("%+v, %v", out, err)
	}
	if list, err := n.List(ctx, catalog.Filter{Deleted: true}); err != nil || len(list.Sessions) != 2 {
		t.Errorf("in the trash: %+v, %v", list, err)
	}
	info, err := n.Info(ctx, "session-1")
	if err != nil || info.Log.Deleted == nil || !strings.Contains(info.Log.Deleted.Why, plan.ID) {
		t.Errorf("it was deleted by %+v, %v", info.Log.Deleted, err)
	}
	if again, err := n.Apply(ctx, api.ApplyRequest{Notice: reason, Plan: plan}); err != nil || again.Done != 2 {
		t.Errorf("again: %+v, %v", again, err)
	}
	page, err := n.Audit(ctx, api.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range page.Records {
		found = found || r.Act == "retention" && r.Outcome == "done" && strings.Contains(r.Detail, plan.ID) && strings.Contains(r.Detail, `"keep":2`)
	}
	if !found {
		t.Errorf("no audit record has the policy: %+v", page.Records)
	}
}

func TestTrashIsErasedOnlyAfterItsRetention(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ctx := t.Context()
	n.old(t, "session-1", "/w", 1)
	n.old(t, "session-2", "/w", 2)
	if err := n.Delete(ctx, "session-1", reason); err != nil {
		t.Fatal(err)
	}
	plan, err := n.Plan(ctx, report.Policy{EraseTrash: true})
	if err != nil || len(plan.Items) != 0 {
		t.Fatalf("at once: %+v, %v", plan, err)
	}
	n.Config.Remover.Now = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) }
	if plan, err = n.Plan(ctx, report.Policy{EraseTrash: true}); err != nil || len(plan.Items) != 1 || plan.Items[0].Do != "erase" {
		t.Fatalf("a month later: %+v, %v", plan, err)
	}
	out, err := n.Apply(ctx, api.ApplyRequest{Notice: reason, Plan: plan})
	if err != nil || out.Done != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := n.Info(ctx, "session-1"); detail(t, err).Code != "deleted" || !strings.Contains(err.Error(), "erased by ada") {
		t.Errorf("the session is not erased: %v", err)
	}
	if _, err := n.Info(ctx, "session-2"); err != nil {
		t.Errorf("the other: %v", err)
	}
	if got, err := n.Server.EmptyTrash(ctx); got != 0 || err != nil {
		t.Errorf("the node itself: %d, %v", got, err)
	}
}

func TestEmptyPolicyIsRejected(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for what, p := range map[string]report.Policy{
		"empty":         {},
		"no limit":      {Rules: []report.Rule{{CWD: "/w"}}},
		"below 0":       {Rules: []report.Rule{{Keep: -1}}},
		"per what":      {Rules: []report.Rule{{Keep: 1, Per: "moon"}}},
		"per of no one": {Rules: []report.Rule{{OlderThan: 1, Per: "cwd"}}},
	} {
		if _, err := n.Plan(t.Context(), p); detail(t, err).Code != "invalid" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
