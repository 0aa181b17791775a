package dialect_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect"
)

// A newerAgent generates lines that no version known here writes: unknown kinds, and
// unknown members and blocks in known ones.
type newerAgent struct {
	main  string
	begin string
	line  func(r *rand.Rand, i int) string
}

const newerID = "11111111-2222-4333-8444-555555555555"

func unknown(r *rand.Rand) string {
	values := []string{`"x"`, `{"deep":[1,{"y":null}]}`, `[]`, `1e400`, `-0.0`, `"\ud83d"`, `"a\u2028b"`, `{"type":"message"}`, `true`}
	return fmt.Sprintf(`"new_%d":%s`, r.IntN(9), values[r.IntN(len(values))])
}

var newerAgents = map[string]newerAgent{
	"claude": {
		main:  "projects/-lab/" + newerID + ".jsonl",
		begin: `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"x"},"uuid":"u0","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab","sessionId":"` + newerID + `"}`,
		line: func(r *rand.Rand, i int) string {
			kind := []string{"user", "assistant", "system", "attachment", "novel", "last-prompt", "summary"}[r.IntN(7)]
			uuid := ""
			if r.IntN(3) > 0 {
				uuid = fmt.Sprintf(`,"uuid":"u%d","parentUuid":"u%d","timestamp":"2026-01-02T03:04:06.000Z"`, i, r.IntN(i))
			}
			return `{` + unknown(r) + `,"type":"` + kind + `"` + uuid + `,"message":{` + unknown(r) + `,"content":[{"type":"hologram",` + unknown(r) + `}]},` + unknown(r) + `}`
		},
	},
	"codex": {
		main:  "sessions/2026/01/02/rollout-2026-01-02T03-04-05-" + newerID + ".jsonl",
		begin: `{"timestamp":"2026-01-02T03:04:05.000Z","ordinal":0,"type":"session_meta","payload":{"id":"` + newerID + `","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab","originator":"o","cli_version":"9","source":"cli","history_mode":"holographic"}}`,
		line: func(r *rand.Rand, i int) string {
			kind := []string{"response_item", "event_msg", "compacted", "turn_context", "novel"}[r.IntN(5)]
			return fmt.Sprintf(`{"timestamp":"t","ordinal":%d,"type":%q,"payload":{"type":"novel",%s,"content":[{"type":"hologram"}]},%s}`, i, kind, unknown(r), unknown(r))
		},
	},
	"opencode": {
		main:  "events.json",
		begin: `{"id":"evt_0","aggregate_id":"ses_0001","seq":0,"type":"session.created.1","data":{"sessionID":"ses_0001","info":{"id":"ses_0001","directory":"/lab","time":{"created":1}}}}`,
		line: func(r *rand.Rand, i int) string {
			kind := []string{"session.updated.1", "message.updated.1", "message.part.updated.1", "message.updated.2", "novel.1"}[r.IntN(5)]
			return fmt.Sprintf(`{"id":"evt_%d","aggregate_id":"ses_0001","seq":%d,"type":%q,"data":{"sessionID":"ses_0001",%s},%s}`, i, i, kind, unknown(r), unknown(r))
		},
	},
}

// A new version of an agent loses nothing: lines that this program does not know are
// imported, followed while the agent writes, and exported byte for byte.
func TestUnknownLinesAreKept(t *testing.T) {
	t.Parallel()
	for name, a := range newerAgents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(50) {
				r := rand.New(rand.NewPCG(seed, 7))
				lines := []string{a.begin}
				for i := 1; i <= 12; i++ {
					lines = append(lines, a.line(r, i))
				}
				half := r.IntN(len(lines)-1) + 1
				d, err := dialect.Named(name)
				if err != nil {
					t.Fatal(err)
				}
				f, want := followed(t, d.(bundle.Bundler), a.main, lines, half)
				again, err := d.File(core.Lines(f.Header.Before(f.Entries))) // as the log has it
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if _, err := d.Context(again.Entries, d.Leaf(again.Entries)); err != nil {
					t.Errorf("seed %d: context: %v", seed, err)
				}
				files, err := d.(bundle.Bundler).Unpack(again.Header, again.Entries, "")
				got := []byte(nil)
				for _, file := range files {
					if file.Path == a.main {
						got = file.Data
					}
				}
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("seed %d: %v\ngot  %s\nwant %s", seed, err, got, want)
				}
			}
		})
	}
}

// followed packs a file that has the first half lines when its agent begins, and is
// followed from there. Events of opencode are imported twice.
func followed(t *testing.T, d bundle.Bundler, main string, lines []string, half int) (*core.File, []byte) {
	t.Helper()
	p, ok := d.(bundle.Packer)
	if !ok {
		whole := []byte("[" + strings.Join(lines, ",") + "]")
		f, err := d.Pack(main, []bundle.File{{Path: main, Data: whole}})
		if err != nil {
			t.Fatal(err)
		}
		earlier, err := d.Pack(main, []bundle.File{{Path: main, Data: []byte("[" + strings.Join(lines[:half], ",") + "]")}})
		if err != nil || len(earlier.Entries) > len(f.Entries) {
			t.Fatalf("the first %d events: %v", half, err)
		}
		return f, whole
	}
	text := func(lines []string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }
	f, rest, err := p.Begin(main, []bundle.File{{Path: main, Data: text(lines[:half])}})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[half:] {
		es, ok, err := rest.Add(main, text([]string{line}))
		if err != nil || !ok {
			t.Fatalf("%s: %v", line, err)
		}
		f.Entries = append(f.Entries, es...)
	}
	return f, text(lines)
}
