package materializer

import "github.com/sesslog/sesslog/core"

// A Prompt is what a person asked an agent, as the prompt history has it. The
// history itself is in the package prompts, so that programs that only speak of
// prompts carry no database.
type Prompt struct {
	Session core.SessionID `json:"session"`
	Entry   string         `json:"entry,omitempty"` // the entry it is in, where that has an id
	Dialect string         `json:"dialect"`
	Host    string         `json:"host,omitempty"` // where the session was made
	CWD     string         `json:"cwd"`
	// Time is when, ISO 8601 with milliseconds and Z. Where the entry does not
	// say, it is that of the prompt before it, or of the session's header.
	Time    string `json:"time,omitempty"`
	Prompt  string `json:"prompt"`
	Cut     bool   `json:"cut,omitempty"`     // Prompt is the beginning of a longer one
	Snippet string `json:"snippet,omitempty"` // of a search: the words around the first that were found
}

// A PromptQuery says which prompts are wanted. The zero value of a field narrows
// nothing.
type PromptQuery struct {
	// Text is words, all of which the prompt must have; of the last one the
	// beginning is enough. Case and accents do not matter, and nothing in it is
	// a command.
	Text    string
	CWD     string // the directory, as the agent wrote it
	Session core.SessionID
	Dialect string
	Before  string // the Next of the page before
	Limit   int    // prompts at most
}

// A PromptPage is prompts, the newest first.
type PromptPage struct {
	Prompts []Prompt `json:"prompts"`
	Next    string   `json:"next,omitempty"` // pass as Before for more
	// Behind is how many sessions have changed that the history has not read
	// yet.
	Behind int `json:"behind,omitempty"`
}
