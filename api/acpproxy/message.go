package acpproxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core/jsonline"
)

// maxMessage bounds a message, in bytes.
const maxMessage = 64 << 20

// A message is one of JSON-RPC. Members that it lacks are nil.
type message struct {
	raw             []byte
	id              json.RawMessage
	method          string
	params, result  json.RawMessage
	session, failed json.RawMessage // params.sessionId, error
}

// isRequest reports whether the message wants an answer.
func (m *message) isRequest() bool { return m.method != "" && m.id != nil }

// sessionID returns the id of the session that the message is for, empty for none.
func (m *message) sessionID() (id string) {
	_ = json.Unmarshal(m.session, &id) // anything else is no id
	return id
}

// parse reads a message. If it is none, the error is that of the protocol.
func parse(line []byte) (*message, error) {
	if !json.Valid(line) || !utf8.Valid(line) {
		return nil, acp.NewParseError(nil)
	}
	m := &message{raw: line}
	err := jsonline.Members(line, func(name string, v jsontext.Value) {
		switch name {
		case "id":
			m.id = json.RawMessage(v)
		case "method":
			_ = json.Unmarshal(v, &m.method) // without a method it is a response
		case "params":
			m.params = json.RawMessage(v)
		case "result":
			m.result = json.RawMessage(v)
		case "error":
			m.failed = json.RawMessage(v)
		}
	})
	if err != nil {
		return nil, acp.NewInvalidRequest(map[string]any{"error": "a message is one JSON object"})
	}
	if m.method == "" && (m.id == nil || m.result == nil && m.failed == nil) {
		return nil, acp.NewInvalidRequest(map[string]any{"error": "it has no method"})
	}
	m.session = member(m.params, "sessionId")
	return m, nil
}

// member returns the value of a member of an object, nil if there is none.
func member(object json.RawMessage, name string) (value json.RawMessage) {
	_ = jsonline.Members(object, func(n string, v jsontext.Value) { // no object has no members
		if n == name {
			value = json.RawMessage(v)
		}
	})
	return value
}

// set returns raw, a JSON object, with the member name of its member outer replaced, if
// there is one. No other byte changes.
func set(raw []byte, outer, name string, value []byte) []byte {
	var out []byte
	kept := 0
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsonline.Lenient...)
	err := eachMember(d, func(n string) error {
		if n != outer || d.PeekKind() != '{' {
			return d.SkipValue()
		}
		return eachMember(d, func(n string) error {
			v, err := d.ReadValue()
			if err == nil && n == name {
				end := int(d.InputOffset())
				out = append(append(out, raw[kept:end-len(v)]...), value...)
				kept = end
			}
			return err
		})
	})
	if err != nil {
		return raw
	}
	return append(out, raw[kept:]...)
}

func eachMember(d *jsontext.Decoder, f func(name string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := f(name.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// keyOf returns an id in one spelling.
func keyOf(id json.RawMessage) string {
	var v any
	if json.Unmarshal(id, &v) != nil {
		return string(id)
	}
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprintf("%T %v", v, v)
}

// encode returns v as JSON. It cannot fail for the types of this package.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// newRequest makes a request; without an id it is a notification.
func newRequest(id json.RawMessage, method string, params json.RawMessage) []byte {
	return encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}{"2.0", id, method, params})
}

// newResponse makes the answer to a request.
func newResponse(id json.RawMessage, result json.RawMessage, failed *acp.RequestError) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return encode(struct {
		Version string            `json:"jsonrpc"`
		ID      json.RawMessage   `json:"id"`
		Result  json.RawMessage   `json:"result,omitempty"`
		Error   *acp.RequestError `json:"error,omitempty"`
	}{"2.0", id, result, failed})
}

// A peer is the editor or the agent.
type peer struct {
	in *bufio.Reader

	mu  sync.Mutex
	out io.Writer
}

func newPeer(in io.Reader, out io.Writer) *peer {
	return &peer{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// send writes a message. An error is left to the reader: the peer has ended.
func (p *peer) send(raw []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.out.Write(append(bytes.TrimSpace(raw), '\n'))
}

// each calls f with each line of the peer, until it ends.
func (p *peer) each(f func(line []byte)) error {
	for {
		line, err := p.line()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			f(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *peer) line() (line []byte, err error) {
	for {
		part, err := p.in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxMessage {
			return nil, fmt.Errorf("a message is longer than %d MiB", maxMessage>>20)
		}
	}
}
