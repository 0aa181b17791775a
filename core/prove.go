package core

import "context"

// A Prover is a Log that can prove what its Last only claims. A leader that was
// cut off from a real log may still answer Last from what it knows; it cannot
// prove anything. Package logtest checks every Prover for what is promised
// here.
type Prover interface {
	// Prove returns nil if the record at last was the session's last one (0: it
	// had none) at some moment between the call and its return, whatever a
	// cut-off part of the log believes. A caller with that record therefore has
	// every record that was acknowledged before the call. Prove changes no
	// session.
	//
	// ErrConflict: another record is last; read on and prove that one. ErrFull:
	// a log without room cannot prove anything. ErrUnavailable: the log could
	// not answer in time.
	Prove(ctx context.Context, id SessionID, last Pos) error
}
