package codex

import (
	"encoding/json"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/dataurl"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// payloadOfEntry returns the payload of an entry's line, or nil if it has none.
func payloadOfEntry(e core.Entry) jsjson.Value {
	line := e.Line
	if p, ours, err := envelope.Open(line); ours {
		if err != nil || !p.IsLine() {
			return nil
		}
		line = p.Bytes
	}
	r, _ := readRecord(line)
	return r.payload
}

// Read returns what e says in terms that all agents share. What Codex tells a
// model about the host, its own events, and instructions have no counterpart.
func (d Dialect) Read(e core.Entry) []item.Item {
	its := read(e)
	for i := range its {
		its[i].Time = date.ISO(date.Parse(e.Time))
	}
	return its
}

func read(e core.Entry) []item.Item {
	switch e.Type {
	case typeItem:
		return readSent(payloadOfEntry(e))
	case typeItems:
		var its []item.Item
		_ = jsjson.Each(member(e.Line, "payloads"), func(v jsjson.Value) { its = append(its, readSent(v)...) })
		return its
	case typeCompacted:
		return readCompaction(payloadOfEntry(e))
	case typeEvent:
		return readEvent(payloadOfEntry(e))
	case typeName:
		return []item.Item{{Kind: item.Name, Text: memberText(e.Line, "name")}}
	case typeLabel:
		return []item.Item{{Kind: item.Label, Target: memberText(e.Line, "targetId"), Text: memberText(e.Line, "label")}}
	}
	return nil
}

func readEvent(p jsjson.Value) []item.Item {
	switch memberText(p, "type") {
	case "thread_settings_applied":
		s := member(p, "thread_settings")
		if model := memberText(s, "model"); model != "" {
			return []item.Item{{Kind: item.Model, Provider: memberText(s, "model_provider_id"), Model: model}}
		}
	case "thread_name_updated":
		return []item.Item{{Kind: item.Name, Text: memberText(p, "thread_name")}}
	}
	return nil
}

// readCompaction reads a compaction as a summary, followed by the messages of
// users that it kept.
func readCompaction(p jsjson.Value) []item.Item {
	summary := memberText(p, "message")
	its := []item.Item{{Kind: item.Compaction, Text: summary}}
	_ = jsjson.Each(member(p, "replacement_history"), func(v jsjson.Value) {
		it, ok := readItem(v)
		if !ok || !it.isUser() || it.text() == summary {
			return
		}
		its = append(its, readSent(v)...)
	})
	return its
}

func readSent(payload jsjson.Value) []item.Item {
	it, ok := readItem(payload)
	if !ok {
		return nil
	}
	switch it.kind {
	case "message":
		return it.message()
	case "agent_message":
		return said(item.RoleUser, blocksOf(member(it.raw, "content"))...)
	case "reasoning":
		b := item.Block{Kind: item.BlockThinking, Text: it.thought(), Signature: memberText(it.raw, "encrypted_content")}
		b.Hidden = b.Text == ""
		return said(item.RoleAssistant, b)
	case "function_call":
		return said(item.RoleAssistant, item.Block{Kind: item.BlockCall, ID: it.callID, Name: memberText(it.raw, "name"), Args: arguments(memberText(it.raw, "arguments"))})
	case "custom_tool_call":
		args, _ := json.Marshal(map[string]string{"input": memberText(it.raw, "input")})
		return said(item.RoleAssistant, item.Block{Kind: item.BlockCall, ID: it.callID, Name: memberText(it.raw, "name"), Args: args})
	case "local_shell_call":
		return said(item.RoleAssistant, item.Block{Kind: item.BlockCall, ID: it.callID, Name: "shell", Args: json.RawMessage(member(it.raw, "action"))})
	case "function_call_output", "custom_tool_call_output":
		return said(item.RoleTool, item.Block{Kind: item.BlockResult, ID: it.callID, Blocks: blocksOf(member(it.raw, "output"))})
	}
	return nil
}

// message reads what a user or a model wrote. Messages about the host are not
// part of the conversation.
func (it *sent) message() []item.Item {
	switch {
	case it.role == "assistant":
		return said(item.RoleAssistant, blocksOf(member(it.raw, "content"))...)
	case it.isUser():
		return said(item.RoleUser, blocksOf(member(it.raw, "content"))...)
	case it.role == "developer" && !it.isAbout():
		return said(item.RoleSystem, blocksOf(member(it.raw, "content"))...)
	}
	return nil
}

func said(role item.Role, blocks ...item.Block) []item.Item {
	it := item.Item{Kind: item.Message, Role: role, Blocks: blocks}
	if role == item.RoleAssistant {
		it.API = "openai-responses"
		it.Stop = item.StopEnd
		if len(blocks) > 0 && blocks[len(blocks)-1].Kind == item.BlockCall {
			it.Stop = item.StopTools
		}
	}
	return []item.Item{it}
}

// thought is the summary of a thought, which is all that a provider shows of it.
func (it *sent) thought() string {
	var texts []string
	for _, b := range blocksOf(member(it.raw, "summary")) {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n\n")
}

// arguments returns the text of a call's arguments as JSON. Text that is not
// JSON is a JSON string.
func arguments(text string) json.RawMessage {
	switch {
	case text == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return jsjson.AppendString(nil, text)
}

// blocksOf reads the content of a message or an output: a text, or a list of
// texts and images. Texts that only mark where an image is are left out.
func blocksOf(content jsjson.Value) []item.Block {
	if s, ok := content.Text(); ok {
		return []item.Block{{Kind: item.BlockText, Text: s}}
	}
	var bs []item.Block
	_ = jsjson.Each(content, func(v jsjson.Value) {
		if text, ok := member(v, "text").Text(); ok && !isImageMark(text) {
			bs = append(bs, item.Block{Kind: item.BlockText, Text: text})
		}
		if mime, data, ok := dataurl.Parse(memberText(v, "image_url")); ok {
			bs = append(bs, item.Block{Kind: item.BlockImage, MIME: mime, Data: data})
		}
	})
	return bs
}

// isImageMark reports whether text only marks where an image begins or ends.
func isImageMark(text string) bool {
	return text == "</image>" || strings.HasPrefix(text, "<image name=") && strings.HasSuffix(text, ">") && !strings.Contains(text, "\n")
}
