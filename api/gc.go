package api

import (
	"github.com/sesslog/sesslog/materializer/gc"
)

// A GCRequest says what POST /v1/blobs/gc is to do, who asks, and why.
type GCRequest struct {
	Apply bool   `json:"apply,omitempty"` // do it; else only say what would be done
	Grace string `json:"grace,omitempty"` // such as "48h"; empty: the node's. Not shorter than that
	By    string `json:"by,omitempty"`
	Host  string `json:"host,omitempty"`
	Why   string `json:"why,omitempty"`
	// Gone are the signatures of logs that kept blobs in the same bucket and are gone
	// for good, as a run that refuses names them.
	Gone []string `json:"gone,omitempty"`
}

// GCReport is what a run found and did or, where it was not applied, would do.
type GCReport = gc.Report
