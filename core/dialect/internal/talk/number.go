package talk

import (
	"math"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// count is v as a count, 0 where it is none.
func count(v jsjson.Value) int64 {
	const most = 1 << 53 // what a number of JavaScript counts to
	f, ok := v.Number()
	if !ok || math.Abs(f) > most {
		return 0
	}
	return int64(f)
}

// number is v as a number, 0 where it is none.
func number(v jsjson.Value) float64 {
	f, ok := v.Number()
	if !ok || math.IsInf(f, 0) {
		return 0
	}
	return f
}
