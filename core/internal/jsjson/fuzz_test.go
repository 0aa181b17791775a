package jsjson

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core/jsonline"
)

// FuzzJSJSON holds that what Append writes is what Append writes for it, that
// an Object gives the same, that what is copied is what would be written, that
// Pick finds what an Object has, and that this package and core accept the same
// lines as objects.
func FuzzJSJSON(f *testing.F) {
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
		slow, slowErr := rewrite(nil, in)
		if (slowErr == nil) != (err == nil) || !bytes.Equal(slow, once) {
			t.Fatalf("Append: %q, %v; written anew: %q, %v", once, err, slow, slowErr)
		}
		pickAsObjects(t, in)
		if coreErr := jsonline.Members(in, func(string, jsontext.Value) {}); (coreErr == nil) != (objectErr == nil) {
			t.Fatalf("jsonline.Members: %v, ParseObject: %v", coreErr, objectErr)
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

// eachAgain checks EachAgain against Each.
func eachAgain(t failer, in []byte) {
	t.Helper()
	var want, got []string
	err := Each(in, func(v Value) { want = append(want, string(v)) })
	if EachAgain(in, func(v Value) { got = append(got, string(v)) }); err == nil && !slices.Equal(got, want) {
		t.Fatalf("%q: Each: %q, EachAgain: %q", in, want, got)
	}
}

// pickAsObjects checks Pick and PickIn against what ParseObject and Get give.
func pickAsObjects(t failer, in []byte) {
	t.Helper()
	names := []string{"a", "id", "v", "role"}
	values := make([]Value, len(names))
	o, want := ParseObject(in)
	if err := Pick(in, names, values); (err == nil) != (want == nil) {
		t.Fatalf("Pick: %v, ParseObject: %v", err, want)
	}
	for i, name := range names {
		if want == nil && !bytes.Equal(values[i], o.Get(name)) {
			t.Fatalf("Pick: %s is %q, Get: %q", name, values[i], o.Get(name))
		}
	}
	again := make([]Value, len(names))
	if PickAgain(in, names, again); want == nil && !slices.EqualFunc(again, values, func(a, b Value) bool { return bytes.Equal(a, b) }) {
		t.Fatalf("%q: Pick: %q, PickAgain: %q", in, values, again)
	}
	eachAgain(t, in)
	for _, v := range values {
		eachAgain(t, v)
	}
	member, same, err := PickIn(in, "v", names, values)
	if (err == nil) != (want == nil) || want == nil && !bytes.Equal(member, o.Get("v")) {
		t.Fatalf("PickIn: %q, %v; ParseObject: %q, %v", member, err, o.Get("v"), want)
	}
	if err != nil {
		return
	}
	if b, err := rewrite(nil, member); same && (err != nil || !bytes.Equal(b, member)) {
		t.Fatalf("PickIn says that %q is the same, it is %q", member, b)
	}
	inner, _ := ParseObject(member)
	for i, name := range names {
		if got := inner.Get(name); !bytes.Equal(values[i], got) {
			t.Fatalf("PickIn: %s is %q, Get: %q", name, values[i], got)
		}
	}
}
