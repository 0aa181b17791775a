package harness

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Shape describes a generated session.
type Shape struct {
	Turns      int // a question, tool calls with results, an answer
	Images     int // spread over the turns
	ImageBytes int // of each, before base64; default 3000
	Words      int // of a text, about; default 30
}

// A File is a generated session file of the pi coding agent, version 3, with
// branches, labels, names, compactions and images.
type File struct {
	ID    string   // of the session
	Bytes []byte   // all of it
	IDs   []string // of the entries, in order
	Seed  uint64
}

// Generate makes a File. The same seed and shape give the same file.
func Generate(seed uint64, shape Shape) *File {
	if shape.ImageBytes == 0 {
		shape.ImageBytes = 3000
	}
	if shape.Words == 0 {
		shape.Words = 30
	}
	g := &generator{
		rng:   rand.New(rand.NewPCG(seed, 0)),
		shape: shape,
		file:  &File{Seed: seed},
		now:   time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
	}
	g.run()
	return g.file
}

// NewFile is Generate with a random seed, which it logs.
func NewFile(tb testing.TB, shape Shape) *File {
	tb.Helper()
	f := Generate(rand.Uint64(), shape)
	tb.Logf("generated session %s: %d entries, %d bytes (seed %d, %+v)", f.ID, len(f.IDs), len(f.Bytes), f.Seed, shape)
	return f
}

// Save writes the file into dir and returns its path.
func (f *File) Save(tb testing.TB, dir string) string {
	tb.Helper()
	path := filepath.Join(dir, f.ID+".jsonl")
	if err := os.WriteFile(path, f.Bytes, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

type generator struct {
	rng   *rand.Rand
	shape Shape
	file  *File
	buf   bytes.Buffer
	now   time.Time
	leaf  string // empty before the first entry
}

func (g *generator) run() {
	g.file.ID = g.uuid()
	g.line(map[string]any{
		"type": "session", "version": 3, "id": g.file.ID, "timestamp": g.stamp(),
		"cwd": "/home/tester/" + g.word(), "futureField": map[string]any{"10": 1e21, "2": -0.5},
	})
	g.entry("model_change", map[string]any{"provider": "acme", "modelId": "m-" + g.word()})
	g.entry("thinking_level_change", map[string]any{"thinkingLevel": "medium"})
	for i := range g.shape.Turns {
		images := g.shape.Images*(i+1)/g.shape.Turns - g.shape.Images*i/g.shape.Turns
		g.turn(images)
		g.extra()
	}
	g.file.Bytes = g.buf.Bytes()
}

// turn adds a question with images, some tool calls, and an answer.
func (g *generator) turn(images int) {
	content := []any{text(g.words())}
	for range images {
		content = append(content, g.image())
	}
	g.message(map[string]any{"role": "user", "content": content})
	for range g.rng.IntN(3) {
		call := "call_" + g.hex(12)
		g.assistant("toolUse",
			map[string]any{"type": "thinking", "thinking": g.words()},
			map[string]any{"type": "toolCall", "id": call, "name": "bash", "arguments": map[string]any{"command": g.words()}})
		g.message(map[string]any{
			"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": []any{text(g.words())}, "isError": g.rng.IntN(8) == 0,
		})
	}
	g.assistant("stop", text(g.words()))
}

// extra adds, sometimes, an entry that is not a message.
func (g *generator) extra() {
	target := g.any()
	switch g.rng.IntN(12) {
	case 0:
		g.entry("label", map[string]any{"targetId": target, "label": g.word()})
	case 1:
		g.entry("label", map[string]any{"targetId": target}) // clears it
	case 2:
		g.entry("session_info", map[string]any{"name": g.word() + " " + g.word()})
	case 3:
		g.entry("compaction", map[string]any{"summary": g.words(), "firstKeptEntryId": target, "tokensBefore": 10_000 + g.rng.IntN(90_000)})
	case 4:
		g.entry("custom", map[string]any{"customType": "e2e", "data": map[string]any{"n": g.rng.Float64()}})
	case 5:
		g.entry("custom_message", map[string]any{"customType": "e2e", "content": g.words(), "display": true})
	case 6:
		g.entry("somebody_elses_type", map[string]any{"payload": []any{nil, true, 1.5e-7, "\u2028<&>"}})
	case 7: // continue elsewhere, with a summary of the branch that was left
		from := g.leaf
		g.leaf = target
		g.entry("branch_summary", map[string]any{"fromId": from, "summary": g.words()})
	case 8: // continue elsewhere without a summary
		g.leaf = target
	}
}

func (g *generator) message(m map[string]any) {
	m["timestamp"] = g.now.UnixMilli()
	g.entry("message", map[string]any{"message": m})
}

func (g *generator) assistant(stop string, content ...any) {
	in, out := g.rng.IntN(5000), g.rng.IntN(900)
	g.message(map[string]any{
		"role": "assistant", "content": content, "api": "openai-completions", "provider": "acme", "model": "m1",
		"usage": map[string]any{
			"input": in, "output": out, "cacheRead": 0, "cacheWrite": 0, "totalTokens": in + out,
			"cost": map[string]any{"input": 0.001, "output": 0.002, "cacheRead": 0, "cacheWrite": 0, "total": 0.003},
		},
		"stopReason": stop,
	})
}

func (g *generator) entry(kind string, members map[string]any) {
	id := g.hex(8)
	members["type"], members["id"], members["timestamp"] = kind, id, g.stamp()
	members["parentId"] = nil
	if g.leaf != "" {
		members["parentId"] = g.leaf
	}
	g.line(members)
	g.file.IDs = append(g.file.IDs, id)
	g.leaf = id
}

// line writes v as its agent would not: with keys in another order and some characters
// escaped. An export must keep all of it.
func (g *generator) line(v map[string]any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	g.buf.Write(append(b, '\n'))
}

func (g *generator) stamp() string {
	g.now = g.now.Add(time.Duration(1+g.rng.IntN(5000)) * time.Millisecond)
	return g.now.Format("2006-01-02T15:04:05.000Z")
}

// any returns the ID of an entry.
func (g *generator) any() string { return g.file.IDs[g.rng.IntN(len(g.file.IDs))] }

func (g *generator) image() map[string]any {
	return map[string]any{"type": "image", "data": base64.StdEncoding.EncodeToString(g.bytes(g.shape.ImageBytes)), "mimeType": "image/png"}
}

func (g *generator) bytes(n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, g.rng.Uint64())
	}
	return b[:n]
}

func (g *generator) hex(n int) string { return fmt.Sprintf("%x", g.bytes((n+1)/2))[:n] }

func (g *generator) uuid() string {
	h := g.hex(32)
	return strings.Join([]string{h[:8], h[8:12], "7" + h[13:16], "a" + h[17:20], h[20:]}, "-")
}

var syllables = []string{"ka", "lo", "mi", "ne", "ru", "ta", "sö", "wě", "日", "本", "\"", "\\", "\t", "🙂", "é"}

func (g *generator) word() string {
	return fmt.Sprintf("%c%s", 'a'+rune(g.rng.IntN(26)), g.hex(5))
}

func (g *generator) words() string {
	var b strings.Builder
	for range 1 + g.rng.IntN(2*g.shape.Words) {
		b.WriteString(g.word() + syllables[g.rng.IntN(len(syllables))] + " ")
	}
	return b.String()
}

func text(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

// Message returns an entry line without ID, parent and time, as a caller appends it.
func Message(role, words string) string {
	b, err := json.Marshal(map[string]any{
		"type": "message", "message": map[string]any{"role": role, "content": []any{text(words)}, "timestamp": 1_772_355_600_000},
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// ImageMessage is Message with an image of n bytes.
func ImageMessage(seed uint64, words string, n int) string {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 1)), shape: Shape{ImageBytes: n}}
	b, err := json.Marshal(map[string]any{
		"type": "message", "message": map[string]any{"role": "user", "content": []any{text(words), g.image()}, "timestamp": 1_772_355_600_000},
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}
