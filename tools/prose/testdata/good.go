// Package good is behind a proxy and lags behind the leader. A forbidden
// word in a name, in SQL, in JSON or in a struct tag is not prose.
package good

import "errors"

//go:generate echo nobody mends it

// Row is one session.
type Row struct {
	ID string `json:"id" doc:"nobody needs this one"`
}

const (
	query = `SELECT id, name FROM sessions WHERE whoever = ?`
	body  = `{"text": "it went on once more"}`
	kind  = "harmed"
)

// Load returns the session, or an error if there is none.
func Load(id string) (Row, error) {
	if id == "" {
		return Row{}, errors.New("session id missing: want 16 hex digits")
	}
	return Row{ID: id}, nil
}
