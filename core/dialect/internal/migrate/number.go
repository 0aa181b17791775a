package migrate

import (
	"math"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// toNumber is JavaScript's Number(v), as its comparisons use it.
func toNumber(v jsjson.Value) float64 {
	switch v.Kind() {
	case 'n', 'f':
		return 0
	case 't':
		return 1
	case '"':
		s, _ := jsonl.Text(v)
		return stringToNumber(s)
	case '[':
		return arrayToNumber(v)
	case '{', 0:
		return math.NaN()
	}
	f, _ := v.Number()
	return f
}

// arrayToNumber is toNumber of an array's text, which is that of its only item,
// or empty if it has none.
func arrayToNumber(v jsjson.Value) float64 {
	b, err := jsjson.Append(nil, v)
	if err != nil {
		return math.NaN()
	}
	inner := jsjson.Value(strings.Trim(string(b), "[]"))
	switch k := inner.Kind(); {
	case k == 0 || string(inner) == "null":
		return 0
	case k == 't' || k == 'f' || k == '{':
		return math.NaN()
	}
	if _, err := jsjson.Append(nil, inner); err != nil {
		return math.NaN() // several items
	}
	return toNumber(inner)
}

// stringToNumber is JavaScript's Number(s).
func stringToNumber(s string) float64 {
	s = jsonl.Trim(s)
	if s == "" {
		return 0
	}
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil || strings.Contains(s, "_") {
			return math.NaN()
		}
		return float64(n)
	}
	if t := strings.TrimLeft(s, "+-"); t == "Infinity" && len(s)-len(t) <= 1 {
		return math.Inf(1 - 2*strings.Count(s, "-"))
	}
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return math.NaN()
	}
	return f
}
