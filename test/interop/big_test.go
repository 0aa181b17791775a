package interop_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// bigSession returns a session file of that many entries: turns with tools, and
// compactions at regular intervals, each of which keeps the last few entries.
func bigSession(entries, summaries int) []byte {
	b := &bigMaker{rng: rand.New(rand.NewPCG(1, 2))}
	b.buf.WriteString(`{"type":"session","version":3,"id":"0b1600e5-0000-7000-8000-000000000000","timestamp":"2026-03-01T09:00:00.000Z","cwd":"/home/tester/big"}` + "\n")
	for next := summaries; b.n < entries; {
		b.turn()
		if b.n > next {
			b.compaction()
			next += summaries
		}
	}
	return b.buf.Bytes()
}

type bigMaker struct {
	rng *rand.Rand
	buf bytes.Buffer
	n   int
}

func (b *bigMaker) turn() {
	b.message(fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"%s"}],"timestamp":%d}`, b.words(40), 1_772_355_600_000+b.n))
	for range b.rng.IntN(8) {
		b.assistant(fmt.Sprintf(`{"type":"thinking","thinking":"%s","thinkingSignature":"%x"},{"type":"toolCall","id":"call_%d","name":"bash","arguments":{"command":"%s"}}`,
			b.words(30), b.rng.Uint64(), b.n, b.words(8)), "toolUse")
		b.message(fmt.Sprintf(`{"role":"toolResult","toolCallId":"call_%d","toolName":"bash","content":[{"type":"text","text":"%s"}],"isError":false,"timestamp":%d}`,
			b.n-1, b.words(100), 1_772_355_600_000+b.n))
	}
	b.assistant(`{"type":"text","text":"`+b.words(60)+`"}`, "stop")
}

func (b *bigMaker) assistant(content, stop string) {
	b.message(fmt.Sprintf(`{"role":"assistant","content":[%s],"api":"openai-completions","provider":"acme","model":"m1","usage":{"input":%d,"output":%d,"cacheRead":0,"cacheWrite":0,"totalTokens":9,`+
		`"cost":{"input":0.001,"output":0.0025,"cacheRead":0,"cacheWrite":0,"total":0.0035}},"stopReason":"%s","timestamp":%d}`,
		content, b.rng.IntN(9000), b.rng.IntN(900), stop, 1_772_355_600_000+b.n))
}

func (b *bigMaker) compaction() {
	b.entry("compaction", fmt.Sprintf(`"summary":"%s","firstKeptEntryId":"%08x","tokensBefore":150000`, b.words(300), b.n-20))
}

func (b *bigMaker) message(m string) { b.entry("message", `"message":`+m) }

func (b *bigMaker) entry(kind, members string) {
	parent := "null"
	if b.n > 0 {
		parent = fmt.Sprintf(`"%08x"`, b.n-1)
	}
	fmt.Fprintf(&b.buf, `{"type":"%s","id":"%08x","parentId":%s,"timestamp":"2026-03-01T09:%02d:%02d.%03dZ",%s}`+"\n",
		kind, b.n, parent, b.n/60000%60, b.n/1000%60, b.n%1000, members)
	b.n++
}

const prose = `the session holds what was said and done, in the order in which it was said and done;\n\tif err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", name, err)\n\t}\nund manches ist nicht auf Englisch, größer, 日本語 auch, und nothing of it is ever lost. `

// words returns text of about n words.
func (b *bigMaker) words(n int) string {
	// Cut at a word boundary, so that no escape sequence is split.
	text := bytes.Repeat([]byte(prose), 1+n*8/len(prose))
	size := min(len(text), n*4+b.rng.IntN(n*4+1))
	for size < len(text) && text[size-1] != ' ' {
		size++
	}
	return string(text[:size])
}
