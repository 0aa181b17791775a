package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

const secret = "the swordfish"

var reason = api.Notice{By: "ada", Host: "desk", Why: "asked for"}

// withSecret creates a session with one entry that contains a secret, writes a
// snapshot and appends another entry.
func (n *node) withSecret(t *testing.T, id string) {
	t.Helper()
	for i := range 16 { // so that the erased records are in the middle of the stream
		if _, err := n.Create(t.Context(), api.Create{ID: fmt.Sprintf("another-%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Create(t.Context(), api.Create{ID: id}); err != nil {
		t.Fatal(err)
	}
	n.say(t, id, "aaaaaaaa", "the password is "+secret)
	if _, err := n.Checkpoint(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	n.say(t, id, "bbbbbbbb", "and again "+secret)
}

func (n *node) say(t *testing.T, id, entry, text string) {
	t.Helper()
	line := fmt.Sprintf(`{"type":"message","id":%q,"message":{"role":"user","content":%q}}`, entry, text)
	if _, err := n.Append(t.Context(), id, []byte(line), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

// holdsSecret returns the streams and objects that still contain the secret or the given text.
func (n *node) holdsSecret(t *testing.T, what string) (where []string) {
	t.Helper()
	js, err := jetstream.New(n.Conn)
	if err != nil {
		t.Fatal(err)
	}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
			m, err := s.GetMsg(t.Context(), seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(m.Data, []byte(what)) {
				where = append(where, fmt.Sprintf("%s %d", name, seq))
			}
		}
	}
	for info, err := range n.Bucket.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		r, err := n.Bucket.Get(t.Context(), info.Key)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		if bytes.Contains(plainOf(t, b), []byte(what)) {
			where = append(where, info.Key)
		}
	}
	return where
}

func TestErasedSessionIsGone(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ctx, id := t.Context(), "session-1"
	n.withSecret(t, id)
	if _, err := n.Fork(ctx, id, api.ForkRequest{ID: "session-2"}); err != nil {
		t.Fatal(err)
	}
	if got := n.holdsSecret(t, secret); len(got) == 0 {
		t.Fatal("the secret is not found before the erasure")
	}

	_, err := n.Erase(ctx, id, api.EraseRequest{Notice: reason})
	if d := detail(t, err); d.Code != "conflict" || !strings.Contains(d.Detail, "not in the trash") {
		t.Errorf("erasing a session that is not in the trash: %+v", d)
	}
	if _, err = n.Erase(ctx, id, api.EraseRequest{Now: true}); detail(t, err).Code != "invalid" {
		t.Errorf("without a reason: %v", err)
	}
	if err := n.Delete(ctx, id, reason); err != nil {
		t.Fatal(err)
	}
	_, err = n.Erase(ctx, id, api.EraseRequest{Notice: reason})
	if d := detail(t, err); d.Code != "conflict" || !strings.Contains(d.Detail, "in the trash until") {
		t.Errorf("a session in the trash: %+v", d)
	}
	found, err := n.Erasable(ctx, id)
	if err != nil || found.Entries != 2 || found.Records == 0 || len(found.Snapshots) != 1 || found.Deleted == nil || len(found.Forks) != 1 {
		t.Errorf("erasable is %+v, %v", found, err)
	}

	got, err := n.Erase(ctx, id, api.EraseRequest{Notice: reason, Now: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.Removed.Records != uint64(found.Records) || got.Removed.Snapshots != 1 || !got.Removed.Rows || got.SHA256 != found.SHA256 || len(got.Remains) == 0 {
		t.Errorf("the receipt says %+v", got)
	}
	if got.Erased == nil || got.Erased.By != "ada" || got.Erased.Why != "asked for" || got.Erased.Time.IsZero() {
		t.Errorf("it was erased by %+v", got.Erased)
	}
	for _, where := range n.holdsSecret(t, secret) {
		if !strings.Contains(where, "session-2") && !strings.HasPrefix(where, "SESS_") && !strings.HasPrefix(where, "KV_") {
			t.Errorf("the secret is still in %s", where)
		}
	}
	if _, err := n.Erase(ctx, "session-2", api.EraseRequest{Notice: reason, Now: true}); err != nil {
		t.Fatal(err)
	}
	n.waitNoSecret(t)

	for what, err := range map[string]error{
		"append": func() error {
			_, err := n.Append(ctx, id, []byte(`{"type":"custom"}`), client.AppendOptions{})
			return err
		}(),
		"info":   func() error { _, err := n.Info(ctx, id); return err }(),
		"undo":   n.Undelete(ctx, id, reason),
		"create": func() error { _, err := n.Create(ctx, api.Create{ID: id}); return err }(),
	} {
		if d := detail(t, err); d.Code != "deleted" && d.Code != "exists" || d.Code == "deleted" && !strings.Contains(d.Detail, "erased by ada on desk") {
			t.Errorf("%s: %+v", what, d)
		}
	}
	for _, trash := range []bool{false, true} {
		if list, err := n.List(ctx, catalog.Filter{Deleted: trash, Prefix: "session"}); err != nil || len(list.Sessions) != 0 {
			t.Errorf("listed: %+v, %v", list, err)
		}
	}
	if page, err := n.Prompts(ctx, catalog.PromptQuery{Text: "swordfish"}); err != nil || len(page.Prompts) != 0 {
		t.Errorf("prompts: %+v, %v", page, err)
	}
	again, err := n.Erase(ctx, id, api.EraseRequest{Notice: api.Notice{By: "bo", Why: "again"}})
	if err != nil || again.Erased.By != "ada" || again.Removed.Records != 0 {
		t.Errorf("erased again: %+v, %v", again, err)
	}
	if rep, err := n.VerifyLog(ctx); err != nil || len(rep.Problems) != 0 {
		t.Errorf("verify finds %+v, %v", rep.Problems, err)
	}
	if rep, err := n.Verify(ctx, id); err != nil || len(rep.Problems) != 0 {
		t.Errorf("verify finds %+v, %v", rep.Problems, err)
	}
	page, err := n.Audit(ctx, api.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var acts []string
	for _, r := range page.Records {
		acts = append(acts, r.Act+" "+r.Outcome)
	}
	want := []string{"erase refused", "delete done", "erase refused", "erase begun", "erase done", "erase begun", "erase done", "erase begun", "erase done"}
	if !slices.Equal(acts, want) {
		t.Errorf("audit: %q, want %q", acts, want)
	}
	for _, r := range page.Records {
		if strings.Contains(fmt.Sprint(r), secret) {
			t.Errorf("an audit record holds content: %+v", r)
		}
	}
}

// plainOf returns b, decompressed if it is compressed.
func plainOf(t *testing.T, b []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if plain, err := d.DecodeAll(b, nil); err == nil {
		return plain
	}
	return b
}

// forget evicts a session from the node's memory.
func (n *node) forget(id string) { n.Config.Cache.Forget(core.SessionID(id)) }

// waitNoSecret waits until the rows of the directory's bucket are written.
func (n *node) waitNoSecret(t *testing.T) {
	t.Helper()
	var where []string
	for range 1500 { // 30 s
		if where = n.holdsSecret(t, secret); len(where) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the secret is still in %v", where)
}

func TestHeldSessionCannotBeRemoved(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ctx, id := t.Context(), "session-1"
	n.withSecret(t, id)
	if err := n.Hold(ctx, id, api.Notice{By: "ada"}); detail(t, err).Code != "invalid" {
		t.Errorf("held without a reason: %v", err)
	}
	if err := n.Hold(ctx, id, api.Notice{By: "ada", Why: "a lawsuit"}); err != nil {
		t.Fatal(err)
	}
	refused := func() {
		t.Helper()
		_, erase := n.Erase(ctx, id, api.EraseRequest{Notice: reason, Now: true})
		_, redact := n.Redact(ctx, id, api.RedactRequest{Notice: reason, Entries: []string{"aaaaaaaa"}})
		for what, err := range map[string]error{"delete": n.Delete(ctx, id, reason), "erase": erase, "redact": redact} {
			if d := detail(t, err); d.Status != 423 || d.Code != "held" || !strings.Contains(d.Detail, "held by ada") || !strings.Contains(d.Detail, "a lawsuit") || !errors.Is(err, core.ErrHeld) {
				t.Errorf("%s: %+v", what, d)
			}
		}
	}
	refused()
	n.say(t, id, "cccccccc", "writing goes on")
	if _, err := n.Checkpoint(ctx, id); err != nil {
		t.Fatal(err)
	}
	n.forget(id) // the next read uses the snapshot
	refused()
	if err := n.Hold(ctx, id, api.Notice{By: "bo", Why: "another"}); err != nil {
		t.Fatal(err)
	}
	if h, err := n.Holds(ctx); err != nil || len(h.Holds) != 1 || h.Holds[0].Session != core.SessionID(id) || h.Holds[0].Held.By != "ada" {
		t.Errorf("held: %+v, %v", h, err)
	}
	if info, err := n.Info(ctx, id); err != nil || info.Log.Held == nil || info.Log.Held.Why != "a lawsuit" {
		t.Errorf("info: %+v, %v", info.Log.Held, err)
	}
	if err := n.Unhold(ctx, id, reason); err != nil {
		t.Fatal(err)
	}
	if h, err := n.Holds(ctx); err != nil || len(h.Holds) != 0 {
		t.Errorf("held: %+v, %v", h, err)
	}
	if err := n.Delete(ctx, id, reason); err != nil {
		t.Fatal(err)
	}
	if err := n.Hold(ctx, id, reason); err != nil {
		t.Errorf("in the trash: %v", err)
	}
	if _, err := n.Erase(ctx, id, api.EraseRequest{Notice: reason, Now: true}); detail(t, err).Code != "held" {
		t.Errorf("held in the trash: %v", err)
	}
}

func TestRedactedEntryIsGone(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ctx, id := t.Context(), "session-1"
	n.withSecret(t, id)
	n.say(t, id, "cccccccc", "something else")
	q := api.RedactRequest{Notice: reason, Entries: []string{"aaaaaaaa", "bbbbbbbb"}, With: "gone"}

	try := q
	try.DryRun = true
	would, err := n.Redact(ctx, id, try)
	if err != nil || len(would.Lines) != 2 || !strings.Contains(string(would.Lines[0]), `"content":"gone"`) {
		t.Fatalf("the dry run says %+v, %v", would, err)
	}
	if got := n.holdsSecret(t, secret); len(got) == 0 {
		t.Fatal("a dry run redacted something")
	}
	got, err := n.Redact(ctx, id, q)
	if err != nil || got.Removed.Records == 0 || got.Removed.Snapshots != 1 || !got.Removed.Rows {
		t.Fatalf("%+v, %v", got, err)
	}
	n.waitNoSecret(t)
	var export string
	for range 2 {
		r, err := n.Export(ctx, id, false)
		export = read(t, r, err)
		if strings.Contains(export, secret) || strings.Count(export, `"content":"gone"`) != 2 || !strings.Contains(export, "something else") {
			t.Errorf("the session is\n%s", export)
		}
		n.forget(id)
	}
	if page, err := n.Prompts(ctx, catalog.PromptQuery{Text: "swordfish"}); err != nil || len(page.Prompts) != 0 {
		t.Errorf("prompts: %+v, %v", page, err)
	}
	old := `{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"` + secret + `"}}`
	if _, err := n.Amend(ctx, id, "aaaaaaaa", []byte(old), client.AppendOptions{}); detail(t, err).Code == "" {
		t.Errorf("amended: %v", err)
	}
	if _, err := n.Append(ctx, id, []byte(old), client.AppendOptions{}); detail(t, err).Code != "conflict" {
		t.Errorf("appended: %v", err)
	}
	n.say(t, id, "dddddddd", "writing goes on")
	if rep, err := n.Verify(ctx, id); err != nil || len(rep.Problems) != 0 {
		t.Errorf("verify finds %+v, %v", rep.Problems, err)
	}
	if rep, err := n.VerifyLog(ctx); err != nil || len(rep.Problems) != 0 {
		t.Errorf("verify finds %+v, %v", rep.Problems, err)
	}
	again, err := n.Redact(ctx, id, q)
	if err != nil {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := n.Redact(ctx, id, api.RedactRequest{Notice: reason, Entries: []string{"eeeeeeee"}}); detail(t, err).Code != "not-found" || detail(t, err).Entry != "eeeeeeee" {
		t.Errorf("a missing entry: %v", err)
	}
}
