package api

import "github.com/sesslog/sesslog/session"

// PresenceList is an answer of GET /v1/presence: nodes first, then writers, the
// longest present first.
type PresenceList struct {
	Present []session.Present `json:"present"`
}
