package prompts

import (
	"database/sql/driver"
	"fmt"

	"modernc.org/sqlite"

	"github.com/sesslog/sesslog/materializer/words"
)

// The index calls words.Spaced by the name spaced.
func init() {
	sqlite.MustRegisterDeterministicScalarFunction("spaced", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		s, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf("spaced: %T is no text", args[0])
		}
		return words.Spaced(s), nil
	})
}
