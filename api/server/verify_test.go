package server_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

func TestRepairUsesOtherCopies(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	pixels := []byte(strings.Repeat("pixels", 300))
	image := base64.StdEncoding.EncodeToString(pixels)
	n.importText(t, file(header, `{"type":"message","id":"b","parentId":null,"timestamp":"t","message":{"role":"user","content":[{"type":"image","data":"`+image+`"}]}}`))
	snap, err := n.Checkpoint(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	r, err := n.Export(t.Context(), "session-one", false) // from here on the node has the image in memory
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	if err := n.Bucket.Put(t.Context(), snap.Object, strings.NewReader("rubbish"), 7); err != nil {
		t.Fatal(err)
	}
	if err := n.Bucket.Delete(t.Context(), blobstore.RefOf(pixels).Key()); err != nil {
		t.Fatal(err)
	}
	rep, err := n.Repair(t.Context(), "session-one")
	if err != nil || len(rep.Problems) != 0 || len(rep.Repaired) != 2 {
		t.Errorf("repair says %+v, %v", rep, err)
	}
	if rep, err = n.Verify(t.Context(), "session-one"); err != nil || len(rep.Problems) != 0 {
		t.Errorf("verify says %+v, %v", rep, err)
	}
}

func TestVerifyLogNamesUnlistedSessions(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	subject := fmt.Sprintf("sess.main.%02d.rubbish-1", n.Config.Log.Shard("rubbish-1"))
	if _, err := n.Conn.Request(subject, []byte("no record"), time.Minute); err != nil { // the answer means that it is stored
		t.Fatal(err)
	}
	rep, err := n.VerifyLog(t.Context())
	slices.Sort(rep.Sessions)
	if err != nil || !slices.Equal(rep.Sessions, []core.SessionID{"rubbish-1", "session-one"}) || len(rep.Problems) != 0 {
		t.Errorf("the log report is %+v, %v", rep, err)
	}
	one, err := n.Verify(t.Context(), "rubbish-1")
	if err != nil || len(one.Problems) != 1 || one.Problems[0].Kind != "record" {
		t.Errorf("a subject without a session: %+v, %v", one, err)
	}
}
