package codex

import (
	"crypto/sha1" // RFC 9562 derives UUIDs of version 5 from it
	"encoding/hex"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// withOutputs returns items as a model accepts them: a call without an output
// gets one that says that it was aborted, directly after it, and an output
// without a call is left out.
func withOutputs(items []sent) []sent {
	called, answered := map[string]bool{}, map[string]bool{}
	for i := range items {
		if out := outputOf[items[i].kind]; out.kind != "" {
			called[out.kind+items[i].callID] = true
		} else if isOutput[items[i].kind] {
			answered[items[i].kind+items[i].callID] = true
		}
	}
	kept := make([]sent, 0, len(items))
	for _, it := range items {
		if isOutput[it.kind] && !called[it.kind+it.callID] && !it.byServer() {
			continue
		}
		kept = append(kept, it)
		if out := outputOf[it.kind]; out.kind != "" && it.callID != "" && !answered[out.kind+it.callID] {
			kept = append(kept, out.aborted(it))
		}
	}
	return kept
}

// An output is the type of the items that answer a call, and the prefix of
// their ids.
type output struct{ kind, prefix string }

var outputOf = map[string]output{
	"function_call":    {"function_call_output", "fco"},
	"local_shell_call": {"function_call_output", "fco"},
	"custom_tool_call": {"custom_tool_call_output", "ctco"},
	"tool_search_call": {"tool_search_output", "tso"},
}

var isOutput = map[string]bool{"function_call_output": true, "custom_tool_call_output": true, "tool_search_output": true}

// byServer reports whether the model's provider ran the tool, so that there is
// no call.
func (it *sent) byServer() bool {
	return it.kind == "tool_search_output" && (it.callID == "" || member(it.raw, "execution").Is("server"))
}

// aborted makes the output of a call that has none. Its members and its id are
// those that Codex gives it.
func (o output) aborted(call sent) sent {
	var w jsonl.Line
	w.Begin(o.kind)
	if call.id != "" {
		w.Text("id", o.prefix+"_"+uuid5(outputNamespace, o.prefix+":"+call.id))
	}
	w.Text("call_id", call.callID)
	if o.kind == "tool_search_output" {
		w.Bytes = append(w.Bytes, `,"status":"completed","execution":"client","tools":[]`...)
	} else {
		w.Text("output", "aborted")
	}
	return sent{raw: append(w.Bytes, '}'), kind: o.kind, callID: call.callID}
}

// outputNamespace is the namespace in which Codex names such outputs.
var outputNamespace = [16]byte{0x90, 0xd3, 0x8d, 0x3e, 0x6a, 0x5b, 0x4d, 0x52, 0xbf, 0xe2, 0x2f, 0x1e, 0x63, 0x4b, 0xfa, 0xc4}

// uuid5 is the UUID of version 5 of name in a namespace.
func uuid5(namespace [16]byte, name string) string {
	sum := sha1.Sum(append(namespace[:], name...))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0F|0x50, id[8]&0x3F|0x80
	s := hex.EncodeToString(id)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
