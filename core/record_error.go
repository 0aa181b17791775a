package core

// A RecordError names the message of a log that could not be read as a record.
type RecordError struct {
	Pos Pos // 0 if not even the position could be read
	Err error
}

func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }
