package lineage

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// An Extra is an additional note of an agent about a session's origin, such as
// that a compression is lossy. In JSON it is a pair, [key, value].
type Extra struct {
	Key   string
	Value json.RawMessage // one JSON value
}

// NewExtra notes value under key. A value that JSON cannot represent becomes
// the text that fmt.Sprint returns.
func NewExtra(key string, value any) Extra {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		b.Reset()
		_ = enc.Encode(fmt.Sprint(value)) // a string always encodes
	}
	return Extra{key, bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

// MarshalJSON gives [key, value].
func (e Extra) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]json.RawMessage{NewExtra("", e.Key).Value, e.value()})
}

// UnmarshalJSON is the inverse of MarshalJSON. core.ErrInvalid for anything but
// a pair whose first is a string.
func (e *Extra) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil || len(pair) != 2 {
		return fmt.Errorf("not a pair of a name and a value: %w", core.ErrInvalid)
	}
	var key *string
	if err := json.Unmarshal(pair[0], &key); err != nil || key == nil {
		return fmt.Errorf("the name of a pair is not a string: %w", core.ErrInvalid)
	}
	e.Key, e.Value = *key, pair[1]
	return nil
}

// value is e.Value, or its text if it is not JSON.
func (e Extra) value() json.RawMessage {
	switch {
	case len(e.Value) == 0:
		return json.RawMessage("null")
	case !json.Valid(e.Value):
		return NewExtra("", string(e.Value)).Value
	}
	return e.Value
}
