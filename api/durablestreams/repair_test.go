package durablestreams_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/nodetest"
)

// A node may stop between the record that deletes a stream and the one that moves its
// session to the trash. The next request for the path completes that.
func TestDeleteThatStoppedHalfwayIsCompleted(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 201, "PUT", "halfway", "x", plain...)
	n.endAt(t, "ds-halfway", time.Now())
	n.want(t, 404, "GET", "halfway", "")
	info, err := n.Info(t.Context(), "ds-halfway")
	if err != nil || info.Log.Deleted == nil {
		t.Errorf("the session is not in the trash: %v", err)
	}
	n.want(t, 201, "PUT", "halfway", "y", plain...)
}

// endAt appends the line that deletes a stream to its session.
func (n node) endAt(t *testing.T, id string, at time.Time) {
	t.Helper()
	line := fmt.Sprintf(`{"type":"delete","id":"0123456789abcdef0123456789abcdef","timestamp":%q}`, at.UTC().Format(time.RFC3339))
	if _, err := n.Append(t.Context(), id, []byte(line), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The session of a stream that was deleted long ago may be restored from the trash. A
// request for the path does not move it there again.
func TestRestoredSessionOfDeletedStreamStays(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 201, "PUT", "restored", "x", plain...)
	n.endAt(t, "ds-restored", time.Now().Add(-2*time.Hour))
	n.want(t, 404, "GET", "restored", "")
	info, err := n.Info(t.Context(), "ds-restored")
	if err != nil || info.Log.Deleted != nil {
		t.Errorf("the session is in the trash again, or %v", err)
	}
	n.want(t, 201, "PUT", "restored", "y", plain...)
}

func TestForkWithAnInvalidBodyLeavesNoNote(t *testing.T) {
	t.Parallel()
	n := start(t, nodetest.Config{})
	n.want(t, 201, "PUT", "source-of", "[1,2]", "Content-Type", "application/json")
	before, err := n.Info(t.Context(), "ds-source-of")
	if err != nil {
		t.Fatal(err)
	}
	from := []string{"Stream-Forked-From", "/v1/stream/source-of"}
	for _, kind := range [][]string{nil, {"Content-Type", "application/json"}} {
		n.want(t, http.StatusBadRequest, "PUT", "fork", "[1,", append(kind, from...)...)
	}
	after, err := n.Info(t.Context(), "ds-source-of")
	if err != nil || after.Log.Cursor != before.Log.Cursor {
		t.Errorf("the source has record %v, it had %v: %v", after.Log.Cursor, before.Log.Cursor, err)
	}
	n.want(t, 201, "PUT", "fork", "[3]", from...)
	if _, got := n.want(t, 200, "GET", "fork", ""); strings.ReplaceAll(got, " ", "") != "[1,2,3]" {
		t.Errorf("the fork has %s", got)
	}
}
