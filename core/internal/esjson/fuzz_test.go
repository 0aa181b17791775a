package esjson

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
)

// FuzzEsjson holds that what Append writes is what Append writes for it, that
// an Object gives the same, and that this package and core accept the same
// lines as objects.
func FuzzEsjson(f *testing.F) {
	for _, c := range appended {
		f.Add([]byte(c.in))
		f.Add([]byte(`{"v":` + c.in + `}`))
	}
	for _, in := range malformed {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := Append(nil, in)
		o, objectErr := ParseObject(in)
		if isObject := err == nil && once[0] == '{'; isObject != (objectErr == nil) {
			t.Fatalf("Append: %v, ParseObject: %v", err, objectErr)
		}
		if coreErr := core.Members(in, func(string, jsontext.Value) {}); (coreErr == nil) != (objectErr == nil) {
			t.Fatalf("core.Members: %v, ParseObject: %v", coreErr, objectErr)
		}
		if err != nil {
			return
		}
		if twice, err := Append(nil, once); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q, %v", once, twice, err)
		}
		if objectErr == nil {
			if b, err := o.Append(nil); err != nil || !bytes.Equal(b, once) {
				t.Fatalf("%q as an object is %q, %v", once, b, err)
			}
		}
	})
}
