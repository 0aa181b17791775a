package read

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files")

// said is a session of pi's with all that a reader sees, and with what a terminal
// would obey.
var said = []string{
	`{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z","provider":"acme","modelId":"m1"}`,
	`{"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"Fix this:\n\n\tif x {\u001b[2J\n\u001b]0;title\u0007 \u202e}\r"}}`,
	`{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"assistant","provider":"acme","model":"m1","content":[{"type":"thinking","thinking":"hm\nhm"},{"type":"text","text":"I look.\u009b31m"},{"type":"toolCall","id":"c1","name":"ba\u001bsh","arguments":{"command":"ls\n\u001b[31m"}}],"stopReason":"toolUse"}}`,
	`{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2026-01-05T09:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","isError":true,"content":[{"type":"text","text":"one\n\ntwo\u001b[0m\n  three\nfour\nfive\nsix\n"}]}}`,
	`{"type":"message","id":"00000005","parentId":"00000004","timestamp":"2026-01-05T09:00:04.000Z","message":{"role":"assistant","provider":"acme","model":"m1","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}`,
	`{"type":"compaction","id":"00000006","parentId":"00000005","timestamp":"2026-01-05T09:00:05.000Z","summary":"all\nof it","firstKeptEntryId":"00000005","tokensBefore":10}`,
	`{"type":"label","id":"00000007","parentId":"00000006","timestamp":"2026-01-05T09:00:06.000Z","targetId":"00000005","label":"good\u001b[0m"}`,
	`{"type":"session_info","id":"00000008","parentId":"00000007","timestamp":"2026-01-05T09:00:07.000Z","name":"fixing"}`,
	`{"type":"custom","customType":"x","data":{"secret":1},"id":"00000009","parentId":"00000008","timestamp":"2026-01-05T09:00:07.000Z"}`,
	`{"type":"message","id":"0000000a","parentId":"00000009","timestamp":"2026-01-05T09:00:08.000Z","message":{"role":"user","content":[{"type":"text","text":"Thanks"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}}`,
}

// attachedTo is a look at a session of pi's that shows into a buffer.
func attachedTo(t *testing.T, head string) (*attached, *bytes.Buffer) {
	t.Helper()
	d, err := dialect.Named("pi")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	a := cli.New(func(string) string { return "" }, strings.NewReader(""), &out, &out)
	a.Now = func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) }
	return &attached{a: app{a}, d: d, head: head, seen: map[string]bool{}}, &out
}

func event(seq uint64, head string, kind core.Kind, body string, lines ...string) api.Event {
	ev := api.Event{Seq: seq, Cursor: core.CursorOf(seq, core.Chain{}), Kind: kind, Head: head, Time: time.Date(2026, 1, 5, 9, 1, 0, 0, time.UTC)}
	if body != "" {
		ev.Body = json.RawMessage(body)
	}
	for _, line := range lines {
		ev.Entries = append(ev.Entries, json.RawMessage(line))
	}
	return ev
}

func TestAttachShowsConversationWithoutControlCharacters(t *testing.T) {
	t.Parallel()
	x, out := attachedTo(t, "")
	name := "fix\x1b[2Jing"
	info := api.Info{
		Info: display.Info{CWD: "/home/me", Name: &name},
		Log: api.LogInfo{Dialect: "pi", Heads: map[string]*core.Head{
			core.MainHead: {Claim: &core.Claim{Agent: "pi\x1b", Host: "here", Writer: "w"}}, "other": {},
		}},
	}
	turns, err := lastTurns(strings.NewReader(strings.Join(said[:5], "\n")), x.d, 9)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.begin("session-1", info, turns); err != nil {
		t.Fatal(err)
	}
	for _, ev := range []api.Event{
		event(2, "main", core.KindAppend, "", said[4:]...), // the first of them was among the turns
		event(3, "other", core.KindClaim, `{"agent":"o\u001bmp","host":"there"}`),
		event(4, "other", core.KindAppend, "", said[9]),
		event(5, "other", core.KindRelease, `{"by":"me"}`),
		event(6, "main", core.KindHead, `{"leaf":"00000005"}`),
		event(7, "main", core.KindAmend, "", said[1]),
		event(8, "main", core.KindCheckpoint, `{}`),
		event(9, "main", core.KindDelete, `{"by":"me","why":"no\u001bw"}`),
		event(10, "main", core.Kind("new\x1b"), `{"by":"me"}`),
	} {
		if err := x.show(ev); err != nil {
			t.Fatal(err)
		}
	}
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && cli.IsControl(r) }); i >= 0 {
		t.Errorf("it shows %q", out.String()[max(0, i-10):i+10])
	}
	golden(t, "attach.txt", out.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := testkit.ReadFile(t, path)
	if !bytes.Equal(got, want) {
		t.Errorf("it is not %s (-update writes it anew):\n%s", path, got)
	}
}

func TestAttachShowsOneHead(t *testing.T) {
	t.Parallel()
	x, out := attachedTo(t, "other")
	for i, head := range []string{"main", "other", "third"} {
		if err := x.show(event(uint64(i), head, core.KindAppend, "", fmt.Sprintf(
			`{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"on %s"}}`, i, head))); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Contains(got, "main") || strings.Contains(got, "third") || !strings.Contains(got, "on other") {
		t.Errorf("it shows\n%s", got)
	}
}

func TestLastTurnsBeginWithPrompt(t *testing.T) {
	t.Parallel()
	d, err := dialect.Named("pi")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{1: "0000000a", 2: "00000001", 99: "00000001"} {
		es, err := lastTurns(strings.NewReader(strings.Join(said, "\n")+"\n"), d, n)
		if err != nil || len(es) == 0 || es[0].ID != want || es[len(es)-1].ID != "0000000a" {
			t.Errorf("the last %d turns are %d entries, %v", n, len(es), err)
		}
	}
}
