package catalog

import "github.com/sesslog/sesslog/core"

// A Prompt is what a person asked an agent.
type Prompt struct {
	Session core.SessionID `json:"session"`
	ShortID string         `json:"shortId,omitempty"` // the shortest beginning of Session that is unique
	Entry   string         `json:"entry,omitempty"`   // its entry's id, if it has one
	Dialect string         `json:"dialect"`
	Host    string         `json:"host,omitempty"` // where the session was created
	CWD     string         `json:"cwd"`
	// Time is in ISO 8601 with milliseconds and Z. If the entry has none, it is
	// that of the prompt before it, or of the session's header.
	Time    string `json:"time,omitempty"`
	Prompt  string `json:"prompt"`
	Cut     bool   `json:"cut,omitempty"`     // Prompt is the beginning of a longer one
	Snippet string `json:"snippet,omitempty"` // of a search: the text around the first match
	// Matches are the words of Snippet that were searched for.
	Matches []Span `json:"matches,omitempty"`
}

// A PromptQuery selects prompts. The zero value of a field does not narrow the
// selection.
type PromptQuery struct {
	// Text is words that the prompt must all have; of the last one the beginning
	// is enough. Case and accents do not matter, and nothing in it is an operator.
	Text    string
	CWD     string // the directory, as the agent wrote it
	Session core.SessionID
	Dialect string
	Before  string // the Next of the previous page
	Limit   int    // at most this many prompts
}

// A PromptPage is a page of prompts, newest first.
type PromptPage struct {
	Prompts []Prompt `json:"prompts"`
	Next    string   `json:"next,omitempty"` // pass as Before for more
	// Behind is how many sessions may have changed that the node has not read yet.
	Behind int `json:"behind,omitempty"`
}
