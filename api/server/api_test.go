package server_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/session/catalog"
)

const header = `{"type":"session","version":3,"id":"session-one","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/dev/x"}`

// message is an entry line.
func message(id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":%q,"timestamp":1}}`, id, p, text)
}

func file(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestImportThenExportIsByteIdentical(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	image := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("pixels", 300)))
	f := file(header, message("a", "", "hi <b>&\u2028"),
		`{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"user","content":[{"type":"image","data":"`+image+`","mimeType":"image/png"}],"timestamp":2}}`,
		`{"type":"message","id":"c","parentId":"b","timestamp":"x","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:0000","mimeType":"image/png"}]}}`)
	res := n.importText(t, f)
	if !res.Created || res.Entries != 3 || res.Blobs != 1 || res.ID != "session-one" {
		t.Errorf("import says %+v", res)
	}
	if got := read2(t, n, "session-one", false); got != f {
		t.Errorf("export gives\n%s\nwant\n%s", got, f)
	}
	if got := read2(t, n, "session-one", true); got != f {
		t.Errorf("export --original gives\n%s\nwant\n%s", got, f)
	}
	blobs, err := n.Client.Blobs(t.Context(), "", 0)
	if err != nil || len(blobs.Blobs) != 1 {
		t.Errorf("blobs are %v, %v; want the one image", blobs, err)
	}
}

func read2(t *testing.T, n *node, id string, original bool) string {
	t.Helper()
	r, err := n.Export(t.Context(), id, original)
	return read(t, r, err)
}

func TestReimportAddsOnlyNewEntries(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	one := file(header, message("a", "", "1"))
	two := file(header, message("a", "", "1"), message("b", "a", "2"))
	n.importText(t, one)
	if res := n.importText(t, two); res.Entries != 1 || res.Created {
		t.Errorf("the longer file: %+v", res)
	}
	if res := n.importText(t, one); res.Entries != 0 {
		t.Errorf("the shorter file: %+v", res)
	}
	_, err := n.Import(t.Context(), strings.NewReader(file(header, message("a", "", "1"), message("b", "a", "other"))), -1, client.ImportOptions{})
	d := detail(t, err)
	if !errors.Is(err, core.ErrConflict) || d.Line != 3 || d.Entry != "b" {
		t.Errorf("a file that contradicts: %+v", d)
	}
	if got := read2(t, n, "session-one", false); got != two {
		t.Errorf("the session is now\n%s", got)
	}
}

func TestBadLinesAreReportedAndKept(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	f := file(header, message("a", "", "1"), "{torn", message("b", "a", "2"))
	res := n.importText(t, f)
	if len(res.Skipped) != 1 || res.Skipped[0].Line != 3 || res.Entries != 2 {
		t.Errorf("import says %+v", res)
	}
	if got := read2(t, n, "session-one", true); got != f {
		t.Errorf("the original is\n%s", got)
	}
	if got, want := read2(t, n, "session-one", false), file(header, message("a", "", "1"), message("b", "a", "2")); got != want {
		t.Errorf("export gives\n%s", got)
	}
}

func TestRetriedAppendIsStoredOnce(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "1")))
	line := []byte(`{"type":"message","message":{"role":"user","content":"more"}}`)
	first, err := n.Append(t.Context(), "session-one", line, client.AppendOptions{Key: "k"})
	if err != nil || first.Stored != 1 || len(first.IDs) != 1 {
		t.Fatalf("append: %+v, %v", first, err)
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(message("z", "", "elsewhere")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := n.Append(t.Context(), "session-one", line, client.AppendOptions{Key: "k"})
	if err != nil || again.Stored != 0 || again.IDs[0] != first.IDs[0] {
		t.Errorf("retry: %+v, %v", again, err)
	}
	r, err := n.Entries(t.Context(), "session-one", false, client.View{})
	if got := read(t, r, err); strings.Count(got, "more") != 1 {
		t.Errorf("entries are\n%s", got)
	}
}

func TestAppendRejectsInvalidEntries(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "1")))
	for name, c := range map[string]struct {
		body string
		want error
		line int
	}{
		"an orphan":             {message("b", "nowhere", "x"), core.ErrInvalid, 1},
		"no JSON":               {message("b", "a", "x") + "\n\nno json", core.ErrInvalid, 3},
		"no object":             {"[1]", core.ErrInvalid, 1},
		"a parent that comes":   {message("b", "c", "x") + "\n" + message("c", "a", "x"), core.ErrInvalid, 1},
		"its own parent":        {message("b", "b", "x"), core.ErrInvalid, 1},
		"an id with other text": {message("a", "", "other"), core.ErrConflict, 1},
		"nothing":               {"\n\n", core.ErrInvalid, 0},
		"an id too long":        {message(strings.Repeat("i", 300), "a", "x"), core.ErrInvalid, 1},
	} {
		_, err := n.Append(t.Context(), "session-one", []byte(c.body), client.AppendOptions{})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
			continue
		}
		if d := detail(t, err); d.Line != c.line || d.Next == "" {
			t.Errorf("%s: problem %+v, want line %d and what to do next", name, d, c.line)
		}
	}
	if got, want := read2(t, n, "session-one", false), file(header, message("a", "", "1")); got != want {
		t.Errorf("the session changed:\n%s", got)
	}
}

func TestAppendConflictsIfHeadMoved(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	at := n.importText(t, file(header, message("a", "", "1"))).Cursor
	next, err := n.Append(t.Context(), "session-one", []byte(message("b", "a", "2")), client.AppendOptions{After: at.String()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Append(t.Context(), "session-one", []byte(message("c", "a", "3")), client.AppendOptions{After: at.String()})
	if d := detail(t, err); !errors.Is(err, core.ErrConflict) || d.Cursor == nil || *d.Cursor != next.Cursor {
		t.Errorf("append after a moved head: %v, %+v", err, d)
	}
	// Repeating stored lines succeeds even if the head moved.
	if _, err := n.Append(t.Context(), "session-one", []byte(message("b", "a", "2")), client.AppendOptions{After: at.String()}); err != nil {
		t.Errorf("repeating what was stored: %v", err)
	}
}

func TestFencedWriterLearnsTheHolder(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "1")))
	one, err := n.Claim(t.Context(), "session-one", core.ClaimRequest{Agent: "first", Host: "h1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Claim(t.Context(), "session-one", core.ClaimRequest{Agent: "second"}); !errors.Is(err, core.ErrFenced) {
		t.Errorf("claim of a held head: %v", err)
	}
	two, err := n.Claim(t.Context(), "session-one", core.ClaimRequest{Agent: "second", Host: "h2", TakeOver: true})
	if err != nil || two.Former == nil || two.Former.Writer != one.Writer || two.Epoch != one.Epoch+1 {
		t.Fatalf("take-over: %+v, %v", two, err)
	}
	_, err = n.Append(t.Context(), "session-one", []byte(message("b", "a", "2")), client.AppendOptions{Writer: one.Writer})
	if d := detail(t, err); !errors.Is(err, core.ErrFenced) || d.Holder == nil || d.Holder.Agent != "second" {
		t.Errorf("the former holder's append: %v, %+v", err, d)
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(message("b", "a", "2")), client.AppendOptions{Writer: two.Writer}); err != nil {
		t.Errorf("the holder's append: %v", err)
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(message("c", "a", "3")), client.AppendOptions{Head: "side"}); err != nil {
		t.Errorf("append to another head: %v", err)
	}
	if err := n.Release(t.Context(), "session-one", "", two.Writer); err != nil {
		t.Fatal(err)
	}
	// Any writer may append to a free head, except one whose claim has ended.
	if _, err := n.Append(t.Context(), "session-one", []byte(message("d", "b", "4")), client.AppendOptions{Writer: one.Writer}); !errors.Is(err, core.ErrFenced) {
		t.Errorf("append with an ended claim: %v", err)
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(message("e", "b", "5")), client.AppendOptions{}); err != nil {
		t.Errorf("append to a free head: %v", err)
	}
}

func TestLabelNameBranchAndContext(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two")))
	if _, err := n.Label(t.Context(), "session-one", api.LabelRequest{Target: "nope", Label: "x"}, client.AppendOptions{}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a label on a missing entry: %v", err)
	}
	if _, err := n.Label(t.Context(), "session-one", api.LabelRequest{Target: "a", Label: "start"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Name(t.Context(), "session-one", api.NameRequest{Name: "my session"}, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	info, err := n.Move(t.Context(), "session-one", "main", api.MoveRequest{Leaf: core.LeafAt("a")}, "")
	if err != nil || info.LeafID == nil || *info.LeafID != "a" || info.Name == nil || *info.Name != "my session" || info.Labels["a"] != "start" {
		t.Fatalf("info is %+v, %v", info.Info, err)
	}
	got, err := n.Context(t.Context(), "session-one", client.View{})
	if err != nil || strings.Contains(string(got), "two") || !strings.Contains(string(got), "one") {
		t.Errorf("context at the moved head: %s, %v", got, err)
	}
	got, err = n.Context(t.Context(), "session-one", client.View{Leaf: "null"})
	if err != nil || string(got) != `{"messages":[],"thinkingLevel":"off","model":null}` {
		t.Errorf("context before all entries: %s, %v", got, err)
	}
	if _, err := n.Context(t.Context(), "session-one", client.View{Leaf: "nope"}); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("context at a missing entry: %v", err)
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(`{"type":"message","id":"c","message":{"role":"user","content":"three"}}`), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	tree, err := n.Tree(t.Context(), "session-one")
	i := slices.IndexFunc(tree, func(t display.TreeNode) bool { return t.ID == "c" })
	if err != nil || i < 0 || tree[i].Depth != 1 {
		t.Errorf("what is appended to a moved head continues there: %+v, %v", tree, err)
	}
}

func TestSuccessfulMoveIsNotReportedAsError(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two")))
	// An error that only a read would cause must not decide the answer to the move.
	req, err := http.NewRequestWithContext(t.Context(), "PUT", n.Base+"/v1/sessions/session-one/heads/main?profile=nobody", strings.NewReader(`{"leaf":{"id":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(undescribed, "profile")
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	info, err := n.Info(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	if moved, said := *info.LeafID == "a", r.StatusCode == http.StatusOK; moved != said {
		t.Errorf("the head points to %s, and the answer to its move is %s", *info.LeafID, r.Status)
	}
}

func TestFileEndsAtHead(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two"), message("c", "a", "three")))
	if _, err := n.Move(t.Context(), "session-one", "main", api.MoveRequest{Leaf: core.LeafAt("b")}, ""); err != nil {
		t.Fatal(err)
	}
	r, place, err := n.File(t.Context(), "session-one", "")
	if got, want := read(t, r, err), file(header, message("a", "", "one"), message("c", "a", "three"), message("b", "a", "two")); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
	if place.Dir != "--home-dev-x--" || place.Name != "2026-01-02T03-04-05-000Z_session-one.jsonl" {
		t.Errorf("the place of the file is %+v", place)
	}
}

func TestForkCopiesPath(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one"), message("b", "a", "two"), message("c", "a", "three")))
	f, err := n.Fork(t.Context(), "session-one", api.ForkRequest{At: "b"})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(read2(t, n, string(f.ID), false), "\n")
	if got, want := strings.Join(lines[1:], ""), file(message("a", "", "one"), message("b", "a", "two")); got != want {
		t.Errorf("the fork holds\n%s", got)
	}
	info, err := n.Info(t.Context(), string(f.ID))
	if from := info.Log.Origin.Lineages(); err != nil || len(from) != 1 || from[0].Session != "session-one" || from[0].Entry != "b" || from[0].Kind != "fork" {
		t.Errorf("its origin is %+v, %v", info.Log.Origin, err)
	}
}

func TestReadsContinueFromSnapshot(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	snap, err := n.Checkpoint(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	again, err := n.Checkpoint(t.Context(), "session-one")
	if err != nil || again != snap {
		t.Errorf("a checkpoint without new records is %+v, %v; want %+v", again, err, snap)
	}
	plain, object, err := n.Snapshot(t.Context(), "session-one")
	if err != nil || string(plain) != file(header, message("a", "", "one")) || object != snap.Object {
		t.Errorf("snapshot %s is %q, %v", object, plain, err)
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(message("b", "a", "two")), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	rep, err := n.Verify(t.Context(), "session-one")
	if err != nil || len(rep.Problems) != 0 || rep.Records != 3 || rep.Entries != 2 {
		t.Errorf("verify says %+v, %v", rep, err)
	}
	if snap, err = n.Checkpoint(t.Context(), "session-one"); err != nil {
		t.Fatal(err)
	}
	rep, err = n.Verify(t.Context(), "session-one")
	if err != nil || len(rep.Problems) != 0 || rep.Snapshot == nil || *rep.Snapshot != snap {
		t.Errorf("after a second snapshot verify says %+v, %v", rep, err)
	}
}

func TestImportRejectsSameHeaderWithOtherIDs(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "1"), message("b", "a", "2")))
	other := file(header, message("x", "", "1"), message("y", "x", "2"))
	_, err := n.Import(t.Context(), strings.NewReader(other), -1, client.ImportOptions{})
	if d := detail(t, err); !errors.Is(err, core.ErrConflict) || d.Line != 2 || d.Entry != "x" {
		t.Errorf("a file with the same header and none of the entries: %+v", d)
	}
}

func TestVerifyReportsDamagedSnapshotAndMissingBlob(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	image := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("pixels", 300)))
	n.importText(t, file(header, `{"type":"message","id":"b","parentId":null,"timestamp":"t","message":{"role":"user","content":[{"type":"image","data":"`+image+`"}]}}`))
	snap, err := n.Checkpoint(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Bucket.Put(t.Context(), snap.Object, strings.NewReader("rubbish"), 7); err != nil {
		t.Fatal(err)
	}
	ref := blobstore.RefOf([]byte(strings.Repeat("pixels", 300)))
	if err := n.Bucket.Delete(t.Context(), ref.Key()); err != nil {
		t.Fatal(err)
	}
	rep, err := n.Verify(t.Context(), "session-one")
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]string, 0, 2)
	for _, p := range rep.Problems {
		kinds = append(kinds, string(p.Kind))
	}
	if !slices.Equal(kinds, []string{"snapshot", "blob"}) {
		t.Errorf("verify found %+v", rep.Problems)
	}
	// The remedy that verify names repairs the snapshot.
	if _, err := n.Checkpoint(t.Context(), "session-one"); err != nil {
		t.Fatal(err)
	}
	if rep, err = n.Verify(t.Context(), "session-one"); err != nil || len(rep.Problems) != 1 || rep.Problems[0].Kind != "blob" {
		t.Errorf("after another checkpoint verify found %+v, %v", rep.Problems, err)
	}
	if r, err := n.Export(t.Context(), "session-one", false); err == nil {
		_ = r.Close()
		t.Error("export succeeds although its image is missing")
	}
}

func TestDeletedSessionRefusesWritesUntilUndeleted(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	if err := n.Delete(t.Context(), "session-one", api.Notice{By: "me", Why: "done"}); err != nil {
		t.Fatal(err)
	}
	_, err := n.Append(t.Context(), "session-one", []byte(message("b", "a", "two")), client.AppendOptions{})
	if !errors.Is(err, core.ErrDeleted) || !strings.Contains(err.Error(), "me") {
		t.Errorf("append to a deleted session: %v", err)
	}
	live, err := n.List(t.Context(), catalog.Filter{})
	if err != nil || len(live.Sessions) != 0 {
		t.Errorf("the list is %+v, %v", live, err)
	}
	trash, err := n.List(t.Context(), catalog.Filter{Deleted: true})
	if err != nil || len(trash.Sessions) != 1 {
		t.Errorf("the trash is %+v, %v", trash, err)
	}
	if err := n.Undelete(t.Context(), "session-one", api.Notice{By: "me"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Append(t.Context(), "session-one", []byte(message("b", "a", "two")), client.AppendOptions{}); err != nil {
		t.Errorf("append to an undeleted session: %v", err)
	}
}

func TestListIncludesAllEarlierWrites(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for i := range 25 {
		h := strings.Replace(header, "session-one", fmt.Sprintf("session-%02d", i), 1)
		n.importText(t, file(h, message("a", "", fmt.Sprintf("hello %d", i))))
		page, err := n.List(t.Context(), catalog.Filter{})
		if err != nil || len(page.Sessions) != i+1 {
			t.Fatalf("after %d imports the list has %d rows, %v", i+1, len(page.Sessions), err)
		}
	}
	var ids []string
	after := ""
	for {
		page, err := n.List(t.Context(), catalog.Filter{Limit: 10, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Sessions {
			ids = append(ids, string(r.ID))
		}
		if after = page.Next; after == "" {
			break
		}
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 25 {
		t.Errorf("the pages have %d sessions", len(ids))
	}
	one, err := n.List(t.Context(), catalog.Filter{Prefix: "session-07"})
	if err != nil || len(one.Sessions) != 1 || one.Sessions[0].First != "hello 7" {
		t.Errorf("the list by prefix is %+v, %v", one, err)
	}
}

func TestFollowerGetsEveryRecordAndResumesByCursor(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const total = 30
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		parent := "a"
		for i := range total {
			id := fmt.Sprintf("m%d", i)
			if _, err := n.Append(ctx, "session-one", []byte(message(id, parent, "x")), client.AppendOptions{}); err != nil {
				t.Errorf("append: %v", err)
				return
			}
			parent = id
		}
	}()
	var seen []string
	var at core.Cursor
	errEnough := errors.New("enough")
	for len(seen) < total+2 { // the header and the first entry, too
		err := n.Follow(ctx, "session-one", at, true, func(ev api.Event) error {
			if ev.Seq != at.Seq+1 {
				t.Errorf("record %d after record %d", ev.Seq, at.Seq)
			}
			at = ev.Cursor
			for _, e := range ev.Entries {
				seen = append(seen, string(e))
			}
			if len(seen)%7 == 0 || len(seen) == total+2 {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Fatal(err)
		}
	}
	<-appended // a follower may see a record before its writer has the answer
	if got := strings.Join(seen, "\n") + "\n"; got != read2(t, n, "session-one", false) {
		t.Errorf("the follower saw\n%s", got)
	}
	_, err := n.Info(ctx, "session-one")
	if err != nil {
		t.Fatal(err)
	}
	err = n.Follow(ctx, "session-one", core.Cursor{Seq: 2, Chain: [8]byte{1}}, true, func(api.Event) error { return nil })
	if !errors.Is(err, core.ErrLost) {
		t.Errorf("a cursor that is not on the log's chain: %v", err)
	}
}

func TestBadRequestsGetSpecificProblem(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(c *server.Config) { c.MaxBody, c.MaxLine = 1<<20, 64<<10 })
	n.importText(t, file(header, message("a", "", "one")))
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"no such path":         {"GET", "/v2/nothing", "", 404, "/v2/nothing"},
		"another method":       {"DELETE", "/v1/sessions", "", 405, "DELETE"},
		"an empty body":        {"POST", "/v1/sessions", "", 400, "{}"},
		"a bad id":             {"GET", "/v1/sessions/..%2F..%2Fetc", "", 400, "session id"},
		"a wildcard":           {"GET", "/v1/sessions/aaaaaaaa%3E", "", 400, "session id"},
		"no such session":      {"GET", "/v1/sessions/nosuchsession", "", 404, "nosuchsession"},
		"append to nothing":    {"POST", "/v1/sessions/nosuchsession/entries", "{}", 404, "nosuchsession"},
		"an empty file":        {"POST", "/v1/import", "", 400, "empty"},
		"no session file":      {"POST", "/v1/import", "hello\n", 400, "hello"},
		"an unknown dialect":   {"POST", "/v1/import?dialect=klingon", header, 400, "klingon"},
		"too large":            {"POST", "/v1/import", strings.Repeat("x", 2<<20), 413, "limits.body"},
		"a line too long":      {"POST", "/v1/import", header + "\n" + strings.Repeat("x", 70<<10), 413, "line 2"},
		"a misspelt member":    {"POST", "/v1/sessions/session-one/claims", `{"agnet":"x"}`, 400, "agnet"},
		"something behind it":  {"POST", "/v1/sessions/session-one/claims", `{"agent":"x"} {"agent":"y"}`, 400, "more than the JSON object"},
		"a bad head":           {"PUT", "/v1/sessions/session-one/heads/a%2Fb", `{"leaf":{"none":true}}`, 400, "head name"},
		"a head without leaf":  {"PUT", "/v1/sessions/session-one/heads/side", `{}`, 400, "leaf"},
		"a bad cursor":         {"GET", "/v1/sessions/session-one/events?after=xyz", "", 400, "xyz"},
		"a bad limit":          {"GET", "/v1/sessions?limit=many", "", 400, "many"},
		"a bad digest":         {"GET", "/v1/blobs/sha256:zz", "", 400, "sha256:zz"},
		"a session that is":    {"POST", "/v1/sessions", `{"id":"session-one"}`, 409, "session-one"},
		"a head that is not":   {"GET", "/v1/sessions/session-one/context?head=nope", "", 404, "nope"},
		"a fork of nothing":    {"POST", "/v1/sessions/session-one/fork", `{"at":"nope"}`, 404, "nope"},
		"no snapshot yet":      {"GET", "/v1/sessions/session-one/snapshot", "", 404, "no snapshot"},
		"an id with a new one": {"POST", "/v1/sessions", `{"id":"../../../x"}`, 400, "session id"},
	} {
		res, body := n.request(t, c.method, c.path, c.body)
		d := mustJSON[api.Detail](t, body)
		if res.StatusCode != c.status || d.Status != c.status || !strings.Contains(d.Detail, c.says) || d.Next == "" {
			t.Errorf("%s: %d %s, want %d naming %q", name, res.StatusCode, body, c.status, c.says)
		}
		if ct := res.Header.Get("Content-Type"); ct != "application/problem+json" {
			t.Errorf("%s: content type %q", name, ct)
		}
	}
	res, _ := n.request(t, "GET", "/v1/sessions/session-one", "")
	if res.StatusCode != http.StatusOK {
		t.Errorf("after the bad requests the session answers %s", res.Status)
	}
}

func TestTokenIsRequired(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(c *server.Config) { c.Token = "secret" })
	if _, err := n.Status(t.Context()); err != nil {
		t.Errorf("with the token: %v", err)
	}
	for _, h := range []string{"", "Bearer wrong", "secret", "Bearer "} {
		res, body := n.request(t, "GET", "/v1/status", "", "Authorization", h)
		if res.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "SESS_TOKEN") {
			t.Errorf("with %q: %s %s", h, res.Status, body)
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if res, body := n.request(t, "GET", path, ""); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
}

func TestCreateThenAppend(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c, err := n.Create(t.Context(), api.Create{CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	info, err := n.Info(t.Context(), string(c.ID))
	if err != nil || info.CWD != "/w" || info.EntryCount != 0 || info.LeafID != nil {
		t.Fatalf("a new session is %+v, %v", info.Info, err)
	}
	got, err := n.Append(t.Context(), string(c.ID), []byte(`{"type":"message","message":{"role":"user","content":"one"}}`+"\n"+`{"type":"message","message":{"role":"user","content":"two"}}`), client.AppendOptions{})
	if err != nil || len(got.IDs) != 2 {
		t.Fatalf("append: %+v, %v", got, err)
	}
	r, err := n.Entries(t.Context(), string(c.ID), false, client.View{})
	if lines := read(t, r, err); !strings.Contains(lines, `"id":"`+got.IDs[0]+`","parentId":null,"timestamp":"`) || !strings.Contains(lines, `"parentId":"`+got.IDs[0]+`"`) {
		t.Errorf("the entries are\n%s", lines)
	}
	tree, err := n.Tree(t.Context(), string(c.ID))
	if err != nil || len(tree) != 2 || tree[1].Depth != 1 {
		t.Errorf("the tree is %+v, %v", tree, err)
	}
}

func TestBodyLimitIsExact(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	n := startNode(t, func(c *server.Config) { c.MaxBody, c.MaxLine = limit, limit })
	pad := func(size int) string {
		f := file(header, message("a", "", "1"))
		return f + strings.Repeat(" ", size-len(f)-1) + "\n"
	}
	if res := n.importText(t, pad(limit)); res.Entries != 1 {
		t.Errorf("a body at the limit: %+v", res)
	}
	f := pad(limit + 1)
	if _, err := n.Import(t.Context(), strings.NewReader(f), int64(len(f)), client.ImportOptions{}); !errors.Is(err, core.ErrTooLarge) {
		t.Errorf("a body above the limit: %v", err)
	}
}

func TestRequestsFromWebPagesAreRejected(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for name, h := range map[string][]string{
		"another origin": {"Origin", "http://evil.example"},
		"another site":   {"Sec-Fetch-Site", "cross-site"},
	} {
		if res, body := n.request(t, "POST", "/v1/import", header+"\n", h...); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s %s", name, res.Status, body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", n.Base+"/v1/sessions", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example:7433"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("with another Host header: %s", res.Status)
	}
}
