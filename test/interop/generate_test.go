package interop_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A session is a random session file of pi. It is unlike files of real agents, but
// valid: every line is JSON, every entry has an ID, and no entry is its own ancestor.
type session struct {
	id   string
	file []byte
	todo []step // operations for the agent
}

// generate makes a session for an agent. The same seed gives the same session.
func generate(seed uint64, a *agent) session {
	m := &maker{rng: rand.New(rand.NewPCG(seed, 0)), newer: a.newer(), omp: a.command == "omp", now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	id := fmt.Sprintf("%08x-0000-7000-8000-%012x", uint32(seed), m.rng.Uint64()>>16)
	m.header(id)
	for range 5 + m.rng.IntN(45) {
		m.next()
	}
	// pi 0.73.1 writes a session without an assistant message a second time.
	m.message(`{"role":"assistant","content":[],"provider":"p","model":"m","stopReason":"stop","timestamp":1}`)
	s := session{id: id, file: m.buf.Bytes()}
	for range 1 + m.rng.IntN(8) {
		s.todo = append(s.todo, m.step())
	}
	return s
}

// A maker writes a session line by line.
type maker struct {
	*values
	rng    *rand.Rand
	newer  bool // pi 1.5.2 continues it
	omp    bool // omp reads it
	buf    bytes.Buffer
	now    time.Time
	ids    []string // IDs of the entries so far
	leaf   string
	coming string // ID of the next entry, if an earlier one refers to it
	above  string // parent of the next entry, if an earlier one is its child
}

func (m *maker) chance(of int) bool { return m.rng.IntN(of) == 0 }

// one returns one of several texts.
func (m *maker) one(of ...string) string { return of[m.rng.IntN(len(of))] }

func (m *maker) header(id string) {
	m.values = &values{m.rng}
	extra := ""
	if m.chance(3) {
		extra = `,"future":` + m.value(2)
	}
	fmt.Fprintf(&m.buf, `{"type":"session","version":3,"id":"%s","timestamp":"%s","cwd":"/tmp/%x"%s}`+"\n", id, m.stamp(), m.rng.Uint32(), extra)
}

func (m *maker) next() {
	if len(m.ids) > 0 && m.chance(6) {
		m.leaf = m.any() // the user went back
	}
	kinds := []func(){
		m.user, m.user, m.answer, m.answer, m.toolResult, m.bash, m.label, m.label, m.compaction, m.branchSummary,
		m.note, m.custom, m.settings, m.settings, m.name, m.unknown,
		m.contextEdit, m.contextEdit, m.usage, m.system, m.empty,
	}
	kinds[m.rng.IntN(len(kinds))]()
}

// any returns the ID of an entry.
func (m *maker) any() string { return m.ids[m.rng.IntN(len(m.ids))] }

// some returns the ID of an entry, on the path or not, or of none.
func (m *maker) some() string {
	if len(m.ids) == 0 || m.chance(8) {
		return "nowhere"
	}
	return m.any()
}

// near returns the ID of one of the last entries, which is likely to be on the path.
func (m *maker) near() string {
	if len(m.ids) == 0 {
		return "nowhere"
	}
	return m.ids[len(m.ids)-1-m.rng.IntN(min(6, len(m.ids)))]
}

// promise returns the ID that the next entry will have.
func (m *maker) promise() string {
	if m.coming == "" {
		m.coming = fmt.Sprintf("%08x", m.rng.Uint32())
	}
	return m.coming
}

func (m *maker) newID() string {
	if id := m.coming; id != "" {
		m.coming = ""
		return id
	}
	if m.chance(25) {
		return m.one("日本-", "a b-", "…/", "🙂") + strconv.Itoa(len(m.ids))
	}
	return fmt.Sprintf("%08x", m.rng.Uint32())
}

// entry adds an entry, with members after the common ones.
func (m *maker) entry(kind, members string) {
	id := m.newID()
	if m.above != "" {
		m.leaf, m.above = m.above, ""
	}
	parent := quoted(m.leaf)
	switch {
	case m.leaf == "" || m.chance(30):
		parent = m.one("null", "null", `""`, `"nowhere"`)
	case m.chance(40): // a parent that is written later
		m.above = m.leaf
		parent = quoted(m.promise())
	}
	if m.chance(20) {
		members += `,"x_future":` + m.value(3)
	}
	base := fmt.Sprintf(`"id":%s,"parentId":%s,"timestamp":%s`, quoted(id), parent, m.time())
	line := fmt.Sprintf(`{"type":"%s",%s%s}`, kind, base, members)
	if m.chance(4) {
		line = fmt.Sprintf(` { "type" : "%s"%s , %s}`, kind, members, base)
	}
	m.buf.WriteString(line + m.one("\n", "\n", "\n", " \n", "\r\n"))
	if m.chance(60) {
		m.buf.WriteString(`{"type":"session","version":3,"id":"another","cwd":"/"}` + "\n")
	}
	m.ids = append(m.ids, id)
	m.leaf = id
}

// time returns a timestamp: mostly a little later than the last one, sometimes the
// same, earlier, in another zone, or none.
func (m *maker) time() string {
	switch m.rng.IntN(60) {
	case 0:
		return `"no date"`
	case 1:
		return `"2026-02-28T23:59:59.999+02:00"`
	case 2:
		return `"2026-03-01"`
	case 3, 4, 5:
		return quoted(m.now.Add(-time.Duration(m.rng.IntN(1e6)) * time.Millisecond).Format(iso))
	}
	return quoted(m.stamp())
}

const iso = "2006-01-02T15:04:05.000Z"

func (m *maker) stamp() string {
	m.now = m.now.Add(time.Duration(m.rng.IntN(3)*m.rng.IntN(5000)) * time.Millisecond)
	return m.now.Format(iso)
}

func (m *maker) message(message string) { m.entry("message", `,"message":`+message) }

func (m *maker) user() {
	m.message(fmt.Sprintf(`{"role":"user","content":%s,"timestamp":%s}`, m.content(), m.number()))
}

func (m *maker) answer() {
	m.message(fmt.Sprintf(`{"role":"assistant","content":%s,"api":"x","provider":%s,"model":%s,"usage":{"input":%s,"cost":{"total":%s}},"stopReason":"%s","timestamp":%s}`,
		m.blocks(), m.model(), m.model(), m.number(), m.number(), m.one("stop", "length", "toolUse", "error", "aborted"), m.number()))
}

// model returns a part of a model's name. omp joins two parts, as we do, so a part
// cannot have half a surrogate pair.
func (m *maker) model() string {
	if m.omp {
		return halves.Replace(m.text())
	}
	return m.text()
}

var halves = strings.NewReplacer(`\ud800`, "", `\udc00`, "")

func (m *maker) toolResult() {
	m.message(fmt.Sprintf(`{"role":"toolResult","toolCallId":"call_%d","toolName":"bash","content":%s,"details":%s,"isError":%t,"timestamp":%s}`,
		m.rng.IntN(9), m.blocks(), m.value(2), m.chance(4), m.number()))
}

func (m *maker) bash() {
	m.message(fmt.Sprintf(`{"role":"%s","command":%s,"output":%s,"exitCode":%s,"cancelled":false,"truncated":false,"timestamp":1}`,
		m.one("bashExecution", "bashExecution", "somebody"), m.text(), m.text(), m.number()))
}

func (m *maker) label() {
	m.entry("label", `,"targetId":`+quoted(m.some())+m.one(`,"label":`+m.text(), `,"label":`+m.text(), `,"label":""`, `,"label":null`, ""))
}

func (m *maker) compaction() {
	kept := quoted(m.near())
	switch m.rng.IntN(8) {
	case 0:
		kept = quoted(m.some())
	case 1:
		kept = "null"
	case 2: // itself
		kept = quoted(m.promise())
	}
	more := m.one("", `,"details":`+m.value(2), `,"fromHook":true`)
	if m.chance(3) {
		more += `,"systemMessage":{"role":"system","content":` + m.text() + `,"timestamp":1}`
	}
	m.entry("compaction", `,"summary":`+m.text()+`,"firstKeptEntryId":`+kept+`,"tokensBefore":`+m.number()+more)
}

func (m *maker) branchSummary() {
	from := m.leaf
	if len(m.ids) > 0 {
		m.leaf = m.any()
	}
	m.entry("branch_summary", `,"fromId":`+quoted(m.one("root", from, m.leaf))+m.one(`,"summary":`+m.text(), `,"summary":`+m.text(), `,"summary":""`)+
		m.one("", `,"details":`+m.value(2)))
}

func (m *maker) note() {
	m.entry("custom_message", `,"customType":"x","content":`+m.content()+`,"display":`+m.one("true", "false")+m.one("", `,"details":`+m.value(2)))
}

func (m *maker) custom() {
	m.entry("custom", `,"customType":`+m.text()+m.one("", `,"data":`+m.value(3)))
}

func (m *maker) settings() {
	if m.chance(2) {
		m.entry("thinking_level_change", m.one(`,"thinkingLevel":"high"`, `,"thinkingLevel":`+m.text(), `,"thinkingLevel":null`, ""))
		return
	}
	m.entry("model_change", m.one(`,"provider":`+m.text()+`,"modelId":`+m.text(), `,"model":"p/m"`, `,"provider":null,"modelId":1.0`))
}

func (m *maker) name() {
	m.entry("session_info", m.one(`,"name":`+m.text(), `,"name":"  spaced\u00a0"`, `,"name":""`, `,"name":null`, ""))
}

func (m *maker) unknown() {
	m.entry(m.one("leaf", "x_future", "title_change"), `,"targetId":`+quoted(m.some())+`,"payload":`+m.value(3))
}

func (m *maker) contextEdit() {
	m.entry("context_edit", `,"targetId":`+quoted(m.one(m.near(), m.near(), m.some()))+`,"replacement":`+
		m.one("null", `{"content":`+m.text()+"}", `{"content":`+m.content()+"}", "{}", "7"))
}

func (m *maker) usage() {
	m.entry("usage", `,"kind":"title","provider":"p","model":"m","usage":`+m.value(2))
}

func (m *maker) system() {
	m.message(fmt.Sprintf(`{"role":"system","content":%s,"sections":{"env":%s},"toolsAdded":[],"timestamp":1}`, m.text(), m.text()))
}

// empty adds an entry without its required content. omp fails on it.
func (m *maker) empty() {
	if m.omp {
		return
	}
	content := m.one("", `,"content":null`)
	if m.chance(4) {
		m.entry("custom_message", `,"customType":"x","display":true`+content)
		return
	}
	m.message(fmt.Sprintf(`{"role":"%s"%s,"timestamp":1}`, m.one("user", "assistant", "toolResult", "system", "somebody"), content))
}

func quoted(s string) string { return `"` + s + `"` }

// values makes JSON values as JavaScript reads them, including unusual ones.
type values struct{ rng *rand.Rand }

var pieces = []string{
	"a word ", "und noch eins ", "日本語", "🙂", "👩\u200d👩\u200d👧", "e\u0301", "\u202eleft", "\u2028", "\u2029", "\ufeff", "\x7f", "<&>'",
	`\u2028`, `\ud83d\ude42`, `\ud800`, `\udc00\ud800`, `\u0000`, `\u001f`, `\u003c`, `\/`, `\"`, `\\`, `\n`, `\r\n`, `\t`, `\b\f`, `\u00E9`,
	"```go\\nfunc main() {}\\n```", "https://example.org/?a=b&c=d ", "</summary>",
}

// text returns a string with its quotes.
func (v *values) text() string {
	var b strings.Builder
	for range v.rng.IntN(8) {
		b.WriteString(pieces[v.rng.IntN(len(pieces))])
	}
	switch v.rng.IntN(80) {
	case 0:
		b.WriteString(strings.Repeat("long ", 1+v.rng.IntN(30_000)))
	case 1:
		b.WriteString([]string{"\xff", "\xe2\x82", "\xed\xa0\x80", "\xf0\x9f\x99"}[v.rng.IntN(4)]) // invalid UTF-8
	}
	return quoted(b.String())
}

var numbers = []string{
	"0", "-0", "1.0", "-1", "1e400", "-1e400", "1e-400", "5e-324", "12345678901234567890", "9007199254740993", "0.1", "1E+2", "1e21", "123456789e12",
	"1e-7", "0.000001", "1.7976931348623157e308", "2.5e-1", "100000000000000000000000", "0.30000000000000004",
}

func (v *values) number() string {
	if v.rng.IntN(3) > 0 {
		return strconv.FormatInt(1_772_000_000_000+v.rng.Int64N(1e9), 10)
	}
	if v.rng.IntN(2) > 0 {
		return strconv.FormatFloat(v.rng.NormFloat64()*1e3, 'g', 1+v.rng.IntN(20), 64)
	}
	return numbers[v.rng.IntN(len(numbers))]
}

var names = []string{`"a"`, `"b"`, `"10"`, `"2"`, `"01"`, `"-1"`, `"4294967294"`, `"4294967295"`, `"__proto__"`, `"toJSON"`, `"constructor"`, `""`, `"\u0061"`, `"é"`, `"\ud800"`}

// value returns any value, nested at most depth levels.
func (v *values) value(depth int) string {
	kind := v.rng.IntN(8)
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return []string{"null", "true", "false"}[v.rng.IntN(3)]
	case 1:
		return v.number()
	case 2, 3:
		return v.text()
	case 4, 5:
		items := make([]string, v.rng.IntN(4))
		for i := range items {
			items[i] = v.value(depth - 1)
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	members := make([]string, v.rng.IntN(5))
	for i := range members {
		members[i] = names[v.rng.IntN(len(names))] + ": " + v.value(depth-1)
	}
	return "{" + strings.Join(members, " ,") + "}"
}

// content returns a user's content: a string or blocks.
func (v *values) content() string {
	if v.rng.IntN(3) == 0 {
		return v.text()
	}
	return v.blocks()
}

func (v *values) blocks() string {
	blocks := make([]string, v.rng.IntN(4))
	for i := range blocks {
		blocks[i] = v.block()
	}
	return "[" + strings.Join(blocks, ",") + "]"
}

func (v *values) block() string {
	switch v.rng.IntN(8) {
	case 0:
		return `{"type":"image","data":"` + strings.Repeat("iVBORw0KGgo+/AAA", 1+v.rng.IntN(400)) + `","mimeType":"image/png"}`
	case 1:
		return `{"type":"thinking","thinking":` + v.text() + `,"thinkingSignature":` + v.text() + `}`
	case 2, 3:
		return fmt.Sprintf(`{"type":"toolCall","id":"call_%d","name":"bash","arguments":%s}`, v.rng.IntN(9), v.value(3))
	case 4:
		return `{"type":"future","what":` + v.value(2) + `}`
	}
	return `{"type":"text","text":` + v.text() + `}`
}
