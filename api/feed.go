package api

import (
	"github.com/sesslog/sesslog/core"
)

// FeedLoss says that a follower of several sessions did not get all of one: its
// records are no longer there, or other ones are. What it has of the session it
// is to read anew.
type FeedLoss struct {
	Session core.SessionID `json:"session"`
	Problem Detail         `json:"problem"`
}
