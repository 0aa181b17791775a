package omp

import (
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// dropRepeated takes away, in an answer that carries the provider's own
// history, the signatures of thoughts that are items of that history, and
// reports whether there were any.
func (n *node) dropRepeated() bool {
	message, ok := n.messageOf("assistant")
	payload := message.get("providerPayload")
	if !ok || !payload.get("type").is("openaiResponsesHistory") {
		return false
	}
	sealed, ids := map[string]bool{}, map[string]bool{}
	for _, item := range payload.get("items").list() {
		if !item.get("type").is("reasoning") {
			continue
		}
		if v := item.get("encrypted_content"); v.isText() {
			sealed[string(v.text)] = true
		}
		if v := item.get("id"); v.isText() {
			ids[string(v.text)] = true
		}
	}
	changed := false
	for _, block := range message.get("content").list() {
		if block.get("type").is("thinking") && repeats(block.get("thinkingSignature"), sealed, ids) {
			changed = block.drop("thinkingSignature") || changed
		}
	}
	return changed
}

// repeats reports whether a signature is the text of one of those items: one
// with the same sealed content or, if it has none, with the same id.
func repeats(signature *node, sealed, ids map[string]bool) bool {
	s, ok := signature.text.Text()
	if !ok {
		return false
	}
	item, ok := jsonl.Nested([]byte(jsonl.Trim(s)))
	if !ok || !item.Get("type").Is("reasoning") {
		return false
	}
	if key, ok := keyText(item.Get("encrypted_content")); ok {
		return sealed[key]
	}
	key, ok := keyText(item.Get("id"))
	return ok && ids[key]
}

// keyText is v as JSON.stringify writes it, if it is a string that is not
// empty.
func keyText(v jsjson.Value) (string, bool) {
	if v.Kind() != '"' || len(v) == 2 {
		return "", false
	}
	b, err := jsjson.Append(nil, v)
	return string(b), err == nil
}

// dropSpilled removes what an MCP tool returned beside its text, if the text
// was too long and went to a file that has both.
func (n *node) dropSpilled() bool {
	message, ok := n.messageOf("toolResult")
	details := message.get("details")
	spilled := details.get("meta").get("truncation").get("artifactId").isText()
	return ok && spilled && details.get("serverName").text.Kind() == '"' && details.get("mcpToolName").text.Kind() == '"' &&
		details.drop("structuredContent")
}

// messageOf returns the message of an entry, and whether role sent it.
func (n *node) messageOf(role string) (*node, bool) {
	message := n.get("message")
	return message, n.get("type").is("message") && message.get("role").is(role)
}

// list returns the items of an array, nothing for any other value.
func (n *node) list() []*node {
	if n.open != '[' {
		return nil
	}
	return n.items
}
