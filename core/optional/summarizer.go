package optional

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
)

// A Summarizer keeps the summary of one session up to date while the session
// grows. It is not safe for concurrent use.
type Summarizer interface {
	// Summary returns what core.Dialect.Summary returns for es. The entries of the
	// previous call must be the beginning of es. It parses only the entries
	// after them, unless these change how the earlier ones count.
	Summary(es []core.Entry) display.Summary
}

// A Summarizing is a core.Dialect whose summaries can be kept up to date.
type Summarizing interface {
	// Summarizer returns the Summarizer of a session with header h.
	Summarizer(h core.Header) Summarizer
}

// NewSummarizer returns the Summarizer of a session with header h. If d is not
// Summarizing, it reads all entries each time.
func NewSummarizer(d core.Dialect, h core.Header) Summarizer {
	if s, ok := d.(Summarizing); ok {
		return s.Summarizer(h)
	}
	return wholeSummarizer{d, h}
}

type wholeSummarizer struct {
	view core.View
	h    core.Header
}

func (s wholeSummarizer) Summary(es []core.Entry) display.Summary { return s.view.Summary(s.h, es) }
