package bytestream

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// The types of lines.
const (
	TypeHeader = "byte-stream"
	TypeAppend = "append"
	TypeClose  = "close"
	TypeTouch  = "touch"  // the stream was read, which extends its time to live
	TypeFork   = "fork"   // another stream was made from this one
	TypeDelete = "delete" // the stream is gone, and its path may be used again
)

// Version is the version of the format that NewHeader writes.
const Version = 1

// ContentJSON is the content type whose bodies are sequences of JSON values.
const ContentJSON = "application/json"

// A Config is the header of a stream.
type Config struct {
	Type        string `json:"type"`
	Version     int    `json:"version"`
	ID          string `json:"id"`
	Time        string `json:"timestamp"`
	Path        string `json:"path"`
	ContentType string `json:"contentType"`
	// TTL is the time to live in seconds after the last use, nil for none. ExpiresAt is
	// a fixed end, in RFC 3339, as the writer gave it.
	TTL       *int64 `json:"ttl,omitempty"`
	ExpiresAt string `json:"expiresAt,omitempty"`
	From      *Fork  `json:"from,omitempty"`
}

// A Fork says which part of which stream a stream begins with.
type Fork struct {
	Path    string `json:"path"`
	Session string `json:"session"`
	Offset  int64  `json:"offset"`
	Sub     int64  `json:"sub,omitempty"` // bytes or values of the append after Offset
}

// IsJSON reports whether the stream is a sequence of JSON values.
func (c *Config) IsJSON() bool { return IsJSON(c.ContentType) }

// IsJSON reports whether a content type is that of JSON values.
func IsJSON(contentType string) bool { return MediaType(contentType) == ContentJSON }

// MediaType returns a content type in lower case without parameters.
func MediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// Line returns c as the header line.
func (c Config) Line() []byte {
	c.Type, c.Version = TypeHeader, Version
	return jsonl.Marshal(c)
}

// ReadConfig reads a header line. It returns core.ErrInvalid for any other line.
func ReadConfig(line []byte) (Config, error) {
	var c Config
	if err := json.Unmarshal(line, &c); err != nil || c.Type != TypeHeader {
		return Config{}, fmt.Errorf("it is not the header of a byte stream: %w", core.ErrInvalid)
	}
	if c.Version != Version {
		return Config{}, fmt.Errorf("byte stream of version %d, only %d is known: %w", c.Version, Version, core.ErrInvalid)
	}
	if c.ID == "" {
		return Config{}, fmt.Errorf("the header has no id: %w", core.ErrInvalid)
	}
	return c, nil
}

// A Line is a line after the header.
type Line struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	Time string `json:"timestamp,omitempty"`

	// Append: Length is how far the line moves the end of the stream, and one of the
	// others is the body.
	Length int64             `json:"length,omitempty"`
	Text   *string           `json:"text,omitempty"`
	Base64 []byte            `json:"base64,omitempty"`
	JSON   []json.RawMessage `json:"json,omitempty"`

	Closed   bool      `json:"closed,omitempty"` // Append: it is the last one
	Seq      *string   `json:"seq,omitempty"`
	Producer *Producer `json:"producer,omitempty"`
	Fork     string    `json:"fork,omitempty"` // Fork: the session of the new stream
}

// A Producer names one request of a producer.
type Producer struct {
	ID    string `json:"id"`
	Epoch int64  `json:"epoch"`
	Seq   int64  `json:"seq"`
}

// ReadLine reads a line after the header. It returns core.ErrInvalid if it is not a JSON
// object.
func ReadLine(line []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(line, &l); err != nil {
		return Line{}, fmt.Errorf("it is not a line of a byte stream: %v: %w", err, core.ErrInvalid)
	}
	l.Length = max(l.Length, 0)
	return l, nil
}

// Encode returns l as a line.
func (l Line) Encode() []byte { return jsonl.Marshal(l) }

// NewAppend returns the line of an appended body that is not JSON.
func NewAppend(body []byte) Line {
	l := Line{Type: TypeAppend, Length: int64(len(body))}
	if utf8.Valid(body) {
		s := string(body)
		l.Text = &s
		return l
	}
	l.Base64 = body
	return l
}

// NewValues returns the line of appended JSON values, which must be valid.
func NewValues(values []json.RawMessage) Line {
	l := Line{Type: TypeAppend, JSON: values}
	l.Length = l.size()
	return l
}

// Body returns the bytes of an append that is not JSON.
func (l *Line) Body() []byte {
	if l.Text != nil {
		return []byte(*l.Text)
	}
	return l.Base64
}

// size returns how far the body of l moves the end of a stream.
func (l *Line) size() int64 {
	n := int64(len(l.Base64))
	if l.Text != nil {
		n += int64(len(*l.Text))
	}
	for _, v := range l.JSON {
		n += int64(len(v)) + 1
	}
	return n
}
