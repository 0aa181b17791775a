package report

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// Outcomes of an act.
const (
	AuditBegun   = "begun"   // about to be done; another record says how it went, unless the node died
	AuditDone    = "done"    //
	AuditRefused = "refused" // nothing was changed
	AuditFailed  = "failed"  // some of it may be done
)

// An AuditRecord says who did what to the log, when, why and how it went. What
// a session holds is never in it.
type AuditRecord struct {
	N       uint64         `json:"n"`    // its number, given by the stream; a later record has a higher one
	Time    time.Time      `json:"time"` // when it was stored, by the broker's clock
	Act     string         `json:"act"`  // such as "erase"
	Session core.SessionID `json:"session,omitempty"`
	By      string         `json:"by,omitempty"`
	Host    string         `json:"host,omitempty"` // where By was
	Node    string         `json:"node,omitempty"` // that did it
	Why     string         `json:"why,omitempty"`
	Token   string         `json:"token,omitempty"`   // by which it was asked for: its name and id, or whose certificate; By is the caller's own word
	Request string         `json:"request,omitempty"` // the id of the request, as in the node's log
	Outcome string         `json:"outcome"`
	Detail  string         `json:"detail,omitempty"` // counts, names, digests
}
