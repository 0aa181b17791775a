package interop_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A step is one operation of a judge on a session, as testdata/judge.mjs defines them:
// a JSON object with its name under "step".
type step = json.RawMessage

// step makes a step.
func (m *maker) step() step {
	kinds := []func() string{m.doMessage, m.doMessage, m.doMessage, m.doSetting, m.doName, m.doCustom, m.doLabel, m.doLabel, m.doBranch, m.doBranch, m.doSummary, m.doCompaction}
	if m.newer {
		kinds = append(kinds, m.doEdit, m.doEdit, m.doUsage, m.doKeepNothing)
	}
	text := kinds[m.rng.IntN(len(kinds))]()
	return step(strings.ToValidUTF8(text, "?"))
}

// at returns an index of an entry; the judge takes it modulo their number.
func (m *maker) at() int { return m.rng.IntN(1000) }

func (m *maker) doMessage() string {
	message := fmt.Sprintf(`{"role":"user","content":%s,"timestamp":%s}`, m.content(), m.number())
	switch m.rng.IntN(3) {
	case 0:
		message = fmt.Sprintf(`{"role":"assistant","content":%s,"api":"x","provider":"p","model":%s,"usage":{"input":%s},"stopReason":"stop","timestamp":1}`, m.blocks(), m.text(), m.number())
	case 1:
		message = fmt.Sprintf(`{"role":"toolResult","toolCallId":"c","toolName":"bash","content":%s,"details":%s,"isError":false,"timestamp":1}`, m.blocks(), m.value(3))
	}
	return `{"step":"message","message":` + message + `}`
}

func (m *maker) doSetting() string {
	return m.one(`{"step":"thinking","level":"high"}`, fmt.Sprintf(`{"step":"model","provider":%s,"model":%s}`, m.text(), m.text()))
}

func (m *maker) doName() string { return `{"step":"name","name":` + m.text() + `}` }

func (m *maker) doCustom() string {
	return m.one(
		fmt.Sprintf(`{"step":"custom","customType":%s,"data":%s}`, m.text(), m.value(3)),
		fmt.Sprintf(`{"step":"note","customType":%s,"content":%s,"display":true,"details":%s}`, m.text(), m.content(), m.value(2)),
		fmt.Sprintf(`{"step":"note","customType":%s,"content":%s,"display":false}`, m.text(), m.content()),
	)
}

func (m *maker) doLabel() string {
	return fmt.Sprintf(`{"step":"label","at":%d%s}`, m.at(), m.one(`,"label":`+m.text(), `,"label":""`, ""))
}

func (m *maker) doBranch() string {
	return m.one(fmt.Sprintf(`{"step":"branch","at":%d}`, m.at()), fmt.Sprintf(`{"step":"branch","at":%d}`, m.at()), `{"step":"rewind"}`)
}

func (m *maker) doSummary() string {
	return fmt.Sprintf(`{"step":"summary","at":%d,"root":%t,"summary":%s,"details":%s%s}`, m.at(), m.chance(4), m.text(), m.value(2), m.one("", `,"fromHook":true`))
}

func (m *maker) doCompaction() string {
	return fmt.Sprintf(`{"step":"compaction","at":%d,"path":%t,"summary":%s,"tokens":%s%s}`, m.at(), !m.chance(4), m.text(), m.number(), m.one("", `,"details":`+m.value(2)))
}

func (m *maker) doKeepNothing() string {
	return fmt.Sprintf(`{"step":"keepNothing","summary":%s,"tokens":7}`, m.text())
}

func (m *maker) doEdit() string {
	return fmt.Sprintf(`{"step":"edit","at":%d,"replacement":%s}`, m.at(), m.one("null", `{"content":`+m.text()+`}`, `{"content":`+m.blocks()+`}`))
}

func (m *maker) doUsage() string {
	return fmt.Sprintf(`{"step":"usage","kind":"title","provider":"p","model":"m","usage":{"input":%s}%s}`, m.number(), m.one("", `,"note":`+m.text()))
}
