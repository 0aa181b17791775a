package loop

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A ModelError says that a model gave no reply. The error of the model's library
// is below it.
type ModelError struct{ Err error }

func (e *ModelError) Error() string { return "the model gave no reply: " + e.Err.Error() }

func (e *ModelError) Unwrap() error { return e.Err }

// An AskError says that a host died after it had started a call, and that the
// policy of its tool is to ask what to do.
type AskError struct {
	Session core.SessionID
	Call    Call
}

func (e *AskError) Error() string {
	return fmt.Sprintf("session %s: call %q of tool %q was started on a host that died; set Config.Ask to decide whether it runs again", e.Session, e.Call.ID, e.Call.Name)
}

// A BudgetError says that OverBudget ended a run.
type BudgetError struct {
	Usage Usage
	Err   error
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget is exceeded after %d tokens: %v", e.Usage.Total, e.Err)
}

func (e *BudgetError) Unwrap() error { return e.Err }
