package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
)

func TestOperatorActionsAreAudited(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if _, err := n.Create(t.Context(), api.Create{ID: "session-1"}); err != nil {
		t.Fatal(err)
	}
	if err := n.Delete(t.Context(), "session-1", api.Notice{By: "ada", Host: "desk", Why: "not needed"}); err != nil {
		t.Fatal(err)
	}
	if err := n.Undelete(t.Context(), "session-1", api.Notice{By: "bo"}); err != nil {
		t.Fatal(err)
	}
	page, err := n.Audit(t.Context(), api.AuditQuery{})
	if err != nil || len(page.Records) != 2 || page.Next != 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	r := page.Records[0]
	if r.Act != "delete" || r.By != "ada" || r.Host != "desk" || r.Why != "not needed" || r.Session != "session-1" || r.Node != "test" || r.Outcome != "done" {
		t.Errorf("the first record is %+v", r)
	}
	if page, err = n.Audit(t.Context(), api.AuditQuery{After: r.N, Since: r.Time}); err != nil || len(page.Records) != 1 || page.Records[0].Act != "undelete" {
		t.Errorf("after the last record: %+v, %v", page, err)
	}
	if page, err = n.Audit(t.Context(), api.AuditQuery{Since: time.Now().Add(time.Hour)}); err != nil || len(page.Records) != 0 {
		t.Errorf("since an hour from now: %+v, %v", page, err)
	}
	for _, query := range []string{"after=x", "since=yesterday"} {
		if res, body := n.request(t, "GET", "/v1/audit?"+query, ""); res.StatusCode != 400 || !strings.Contains(body, `"code":"invalid"`) {
			t.Errorf("%s: %d %s", query, res.StatusCode, body)
		}
	}
}
