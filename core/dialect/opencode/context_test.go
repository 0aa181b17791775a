package opencode_test

import (
	"encoding/json"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
)

const png = "data:image/png;base64,iVBORw0KGgo="

func TestContextIsWhatOpencodeSends(t *testing.T) {
	t.Parallel()
	call := func(id, state string) string {
		return `"type":"tool","callID":"` + id + `","tool":"bash","state":` + state
	}
	for name, c := range map[string]struct {
		s    *script
		want string
	}{
		"a turn":                        {begin().asks("msg_1", "hi").answers("msg_2", "there"), "u:hi|a:there"},
		"the last row of a part counts": {begin().asks("msg_1", "hi").asks("msg_1", "ho"), "u:ho"},
		"messages sort by time":         {begin().answers("msg_9", "a").asks("msg_1", "b"), "a:a|u:b"},
		"a removed message":             {begin().asks("msg_1", "a").asks("msg_2", "b").event("message.removed.1", `"messageID":"msg_1"`), "u:b"},
		"a removed part":                {begin().asks("msg_1", "a").part("prt_z", "msg_1", `"type":"text","text":"z"`).event("message.part.removed.1", `"messageID":"msg_1","partID":"prt_msg_1"`), "u:z"},
		"a part without a message":      {begin().part("prt_1", "msg_1", `"type":"text","text":"a"`), ""},
		"a pending revert": {begin().asks("msg_1", "a").asks("msg_2", "b").
			row("session.updated.1", "info", begin().info("t", `,"revert":{"messageID":"msg_2"}`)), "u:a"},
		"a pending revert of a part": {begin().asks("msg_1", "a").part("prt_z", "msg_1", `"type":"text","text":"z"`).
			row("session.updated.1", "info", begin().info("t", `,"revert":{"messageID":"msg_1","partID":"prt_z"}`)), "u:a"},
		"a text that is ignored": {begin().asks("msg_1", "a").part("prt_z", "msg_1", `"type":"text","text":"z","ignored":true`), "u:a"},
		"a failed answer": {begin().asks("msg_1", "a").answers("msg_2", "b").
			message("msg_2", "assistant", `,"error":{"name":"APIError","data":{}}`), "u:a"},
		"an aborted answer": {begin().asks("msg_1", "a").answers("msg_2", "b").
			message("msg_2", "assistant", `,"error":{"name":"MessageAbortedError","data":{}}`), "u:a|a:b"},
		"an answer aborted in a thought": {begin().asks("msg_1", "a").message("msg_2", "assistant", `,"error":{"name":"MessageAbortedError"}`).
			part("prt_1", "msg_2", `"type":"reasoning","text":"hm"`), "u:a"},
		"tools": {
			begin().asks("msg_1", "a").message("msg_2", "assistant", answer).
				part("prt_1", "msg_2", `"type":"step-start"`).
				part("prt_2", "msg_2", call("c1", `{"status":"completed","input":{"x":1.0},"output":"out","time":{}}`)).
				part("prt_3", "msg_2", call("c2", `{"status":"error","input":{},"error":"bad"}`)).
				part("prt_4", "msg_2", call("c3", `{"status":"running","input":{}}`)).
				part("prt_5", "msg_2", call("c4", `{"status":"completed","input":{},"output":"old","time":{"compacted":1}}`)).
				part("prt_6", "msg_2", call("c5", `{"status":"error","input":{},"error":"x","metadata":{"interrupted":true,"output":"half"}}`)),
			`u:a|a:+c1=bash{"x":1}+c2=bash{}+c3=bash{}+c4=bash{}+c5=bash{}|t:c1out|t:c2bad|t:c3[Tool execution was interrupted]|t:c4[Old tool result content cleared]|t:c5half`,
		},
		"steps of one answer": {begin().message("msg_2", "assistant", answer).
			part("prt_1", "msg_2", `"type":"step-start"`).part("prt_2", "msg_2", call("c1", `{"status":"completed","input":{},"output":"o"}`)).
			part("prt_3", "msg_2", `"type":"step-start"`).part("prt_4", "msg_2", `"type":"text","text":"b"`), "a:+c1=bash{}|t:c1o|a:b"},
		"a step without content": {begin().asks("msg_1", "a").message("msg_2", "assistant", answer).part("prt_1", "msg_2", `"type":"step-start"`), "u:a"},
		"a thought of the same model": {begin().asks("msg_1", "a").message("msg_2", "assistant", answer).
			part("prt_1", "msg_2", `"type":"reasoning","text":"hm"`).part("prt_2", "msg_2", `"type":"text","text":"b"`), "u:a|a:b(hm)"},
		"a thought of another model": {begin().asks("msg_1", "a").message("msg_2", "assistant", `,"modelID":"other","providerID":"p"`).
			part("prt_1", "msg_2", `"type":"reasoning","text":"hm"`).part("prt_2", "msg_2", `"type":"text","text":"b"`), "u:a|a:hmb"},
		"a compaction": {
			begin().asks("msg_1", "a").asks("msg_2", "b").part("prt_c", "msg_2", `"type":"compaction","auto":true`).
				event("message.part.removed.1", `"messageID":"msg_2","partID":"prt_msg_2"`).
				answers("msg_3", "sum").message("msg_3", "assistant", `,"summary":true,"finish":"stop","parentID":"msg_2"`).asks("msg_4", "d"),
			"u:What did we do so far?|a:sum|u:d",
		},
		"a compaction without a summary": {begin().asks("msg_1", "a").message("msg_2", "user", "").part("prt_c", "msg_2", `"type":"compaction","auto":true`).
			message("msg_3", "assistant", `,"summary":true,"parentID":"msg_2"`), "u:a|u:What did we do so far?"},
		"a compaction that kept messages": {
			begin().asks("msg_1", "a").asks("msg_2", "kept").message("msg_3", "user", "").
				part("prt_c", "msg_3", `"type":"compaction","auto":true,"tail_start_id":"msg_2"`).
				answers("msg_4", "sum").message("msg_4", "assistant", `,"summary":true,"finish":"stop","parentID":"msg_3"`).asks("msg_5", "d"),
			"u:What did we do so far?|a:sum|u:kept|u:d",
		},
		"an attached picture": {
			begin().asks("msg_1", "a").part("prt_z", "msg_1", `"type":"file","mime":"image/png","url":"`+png+`"`),
			`u:[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"` + png + `"}}]`,
		},
		"an attached text": {begin().asks("msg_1", "a").part("prt_z", "msg_1", `"type":"file","mime":"text/plain","url":"file:///x"`), "u:a"},
		"an attached film": {
			begin().message("msg_1", "user", "").part("prt_z", "msg_1", `"type":"file","mime":"video/mp4","filename":"f.mp4","url":"data:video/mp4;base64,AA=="`),
			`u:ERROR: Cannot read \"f.mp4\" (this model does not support video input). Inform the user.`,
		},
		"an empty picture": {
			begin().message("msg_1", "user", "").part("prt_z", "msg_1", `"type":"file","mime":"image/png","url":"data:image/png;base64,"`),
			`u:ERROR: Image file is empty or corrupted. Please provide a valid image.`,
		},
		"a picture that a tool returned": {
			begin().message("msg_2", "assistant", answer).
				part("prt_1", "msg_2", call("c1", `{"status":"completed","input":{},"output":"o","attachments":[{"mime":"image/png","url":"`+png+`"}]}`)),
			`a:+c1=bash{}|t:c1o|u:[{"type":"text","text":"Attached media from tool result:"},{"type":"image_url","image_url":{"url":"` + png + `"}}]`,
		},
		"a command of the user": {begin().message("msg_1", "user", "").part("prt_1", "msg_1", `"type":"subtask","prompt":"x"`), "u:The following tool was executed by the user"},
		"events and parts of unknown kinds": {begin().asks("msg_1", "a").event("message.dreamed.7", `"info":{"id":"msg_1"}`).part("prt_q", "msg_1", `"type":"dream","text":"x"`).
			event("session.next.step.1", `"x":1`), "u:a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.s.file(t)
			if got := contents(t, f); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			checkSession(t, f)
			// An export of it says the same.
			again := read(t, restored(t, f, "")["export.json"])
			if got := contents(t, again); got != c.want {
				t.Errorf("the export says %s", got)
			}
		})
	}
}

func TestContextAtEarlierEntry(t *testing.T) {
	t.Parallel()
	s := begin().asks("msg_1", "a")
	at := core.LeafAt("evt_0002")
	f := s.answers("msg_2", "b").event("message.removed.1", `"messageID":"msg_1"`).file(t)
	d := opencode.Dialect{}
	raw, err := d.Context(f.Entries, at)
	if err != nil || said(t, raw) != "u:a" {
		t.Errorf("%s, %v", raw, err)
	}
	if raw, err := d.Context(f.Entries, core.NoLeaf); err != nil || string(raw) != `{"messages":[]}` {
		t.Errorf("before all: %s, %v", raw, err)
	}
	for _, err := range []error{
		second(d.Context(f.Entries, core.LeafAt("nowhere"))), second(d.Path(f.Entries, core.LeafAt("nowhere"))),
		second(d.Info(f.Header, f.Entries, core.LeafAt("nowhere"))), second(d.ReadAll(f.Header, f.Entries, core.LeafAt("nowhere"))),
	} {
		if err == nil {
			t.Error("an entry that does not exist is found")
		}
	}
}

func second[T any](_ T, err error) error { return err }

// checkSession checks what holds for every session.
func checkSession(t testing.TB, f *core.File) {
	t.Helper()
	d := opencode.Dialect{}
	again, err := d.File(core.Lines(f.Header.Before(f.Entries)))
	if err != nil || len(again.Entries) != len(f.Entries) {
		t.Fatalf("the session is not read again: %v", err)
	}
	if _, err := d.Unpack(f.Header, again.Entries, "/elsewhere"); err != nil {
		t.Fatal(err)
	}
	leaf := d.Leaf(again.Entries)
	context, err := d.Context(again.Entries, leaf)
	if err != nil || !json.Valid(context) {
		t.Fatalf("context %q: %v", context, err)
	}
	path, err := d.Path(again.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	if onPath, err := d.Context(path, core.Leaf{}); err != nil || string(onPath) != string(context) {
		t.Errorf("the entries of the path say %s, all say %s (%v)", onPath, context, err)
	}
	info, err := d.Info(again.Header, again.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.ReadAll(again.Header, again.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range all {
		if line, _ := d.Write(it); line != nil && !json.Valid(line) {
			t.Errorf("%+v is written as %q", it, line)
		}
	}
	sum := d.Summarizer(again.Header)
	for i := range again.Entries {
		sum.Summary(again.Entries[:i])
	}
	whole, _ := json.Marshal(d.Summary(again.Header, again.Entries))
	if step, _ := json.Marshal(sum.Summary(again.Entries)); string(step) != string(whole) {
		t.Errorf("the summary kept up to date is %s, not %s", step, whole)
	}
	for _, v := range []any{info, d.Tree(again.Entries), d.Layout(again.Header, again.Entries)} {
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	}
}
