package api

import (
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
)

// PresenceList is an answer of GET /v1/presence: nodes first, then writers, the
// longest present first.
type PresenceList struct {
	Present []stream.Present `json:"present"`
}

// What to do where another writer came first, see package session.
const (
	Fail   = session.Fail
	Rebase = session.Rebase
	Branch = session.Branch
)

// ParseOnConflict reads what to do where another writer came first.
func ParseOnConflict(s string) (session.OnConflict, error) { return session.ParseOnConflict(s) }

// A Life is what is known of whether a claim's holder is there.
type Life = stream.Life

// What is known of a holder, see package stream.
const (
	LifeAlive  = stream.Alive
	LifeSilent = stream.Silent
	LifeNew    = stream.New
)
