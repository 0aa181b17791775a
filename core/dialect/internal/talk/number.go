package talk

import (
	"math"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// number is v as a number, or 0 if it is none.
func number(v jsjson.Value) float64 {
	f, ok := v.Number()
	if !ok || math.IsInf(f, 0) {
		return 0
	}
	return f
}
