package core

import (
	"fmt"
	"time"
)

// A Change is a record that moved a head or changed its holder.
type Change struct {
	Cursor  Cursor    `json:"cursor"`
	Kind    Kind      `json:"kind"`
	Writer  string    `json:"writer"`
	Who     *Claim    `json:"who,omitempty"` // the claim that the writer speaks from, if any
	Time    time.Time `json:"time,omitzero"` // by the log's clock
	Count   int       `json:"count,omitempty"`
	Entries []string  `json:"entries,omitempty"` // ids of the first of its entries that have one
}

func (c *Change) String() string {
	who := "writer " + c.Writer
	if c.Who != nil {
		who = c.Who.Name()
	}
	at := ""
	if !c.Time.IsZero() {
		at = " at " + c.Time.UTC().Format("2006-01-02 15:04:05Z")
	}
	what := "moved it"
	switch c.Kind {
	case KindClaim:
		what = "claimed it"
	case KindRelease:
		what = "released it"
	case KindAppend:
		what = fmt.Sprintf("appended %d entries", c.Count)
		if c.Count == 1 && len(c.Entries) == 1 {
			what = fmt.Sprintf("appended entry %q", clip(c.Entries[0], 64))
		}
	}
	return fmt.Sprintf("%s %s%s (%s)", who, what, at, c.Cursor)
}

// sinceText is the end of an error's text that says what happened since.
func sinceText(since []Change, more int) string {
	if len(since) == 0 {
		return ""
	}
	text := "; since then " + since[0].String()
	if rest := len(since) - 1 + more; rest > 0 {
		text += fmt.Sprintf(", and %d more", rest)
	}
	return text
}
