package core

import "context"

// A Prover is a Log that can prove what its Last can only say. A real log's
// leader that was cut off goes on answering Last for a while, with what it
// knew; it proves nothing. Package logtest holds every Prover to what is said
// here.
type Prover interface {
	// Prove returns nil when the record at last was the session's last one (0:
	// it had none) at some moment between the call and its return, whatever
	// any cut-off part of the log believes. So whoever has that record has
	// every record that was acknowledged before the call.
	//
	// ErrConflict: another record is last; read on and prove that one. ErrFull:
	// a log without room proves nothing. ErrUnavailable: nobody could tell in
	// time. No session is changed by it, whatever it returns.
	Prove(ctx context.Context, id SessionID, last Pos) error
}
