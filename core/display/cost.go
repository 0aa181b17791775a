package display

import "fmt"

// Cost returns a cost in dollars as people read it, such as "$1.20", or "" for none.
func Cost(c float64) string {
	switch {
	case c <= 0:
		return ""
	case c < 0.005:
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", c)
}
