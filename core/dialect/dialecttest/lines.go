package dialecttest

import (
	"strings"

	"github.com/sesslog/sesslog/core"
)

// TB is what the helpers need of a test. *testing.T and *rapid.T have it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Text joins lines to a file.
func Text(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

// Entries reads lines as entries of d.
func Entries(t TB, d core.Decoder, lines ...string) []core.Entry {
	t.Helper()
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		e, err := d.Entry([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		es[i] = e
	}
	return es
}

// IDs returns the ids of es, joined by spaces.
func IDs(es []core.Entry) string {
	ids := make([]string, len(es))
	for i := range es {
		ids[i] = es[i].ID
	}
	return strings.Join(ids, " ")
}
