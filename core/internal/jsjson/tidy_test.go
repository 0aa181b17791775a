package jsjson

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestPickTidy(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{}`:                       true,
		`{"a":{},"b":[],"c":[{}]}`: true,
		`{"a":[1,-0.5,"é日本","\n\"\\\t\u0001\u001f",true,false,null]}`: true,
		`{"a":0,"b":0.000001,"c":123456789012345,"d":-1.25,"e":10.1}`: true,
		`{"a":"` + "\u2028\x7f" + `/"}`:                               true,
		`{"a":{"a":{"a":1}},"b":{"a":1}}`:                             true,
		`{"":1}`:                                                      true,
		`{"01":1,"-1":2,"4294967295":3}`:                              true, // no array indices
		`{"1":1}`:                                                     false,
		`{"a":1,"a":1}`:                                               false,
		`{"a":{"b":1,"c":2,"b":3}}`:                                   false,
		`{"a": 1}`:                                                    false,
		`{"a":1} `:                                                    false,
		` {"a":1}`:                                                    false,
		`{"a":1}{}`:                                                   false,
		`{"a":1,}`:                                                    false,
		`{"a":[1,]}`:                                                  false,
		`{"a":[,1]}`:                                                  false,
		`{"a":}`:                                                      false,
		`{"a"1}`:                                                      false,
		`{a:1}`:                                                       false,
		`{"a":tru}`:                                                   false,
		`{"a":1.0}`:                                                   false,
		`{"a":-0}`:                                                    false,
		`{"a":-}`:                                                     false,
		`{"a":01}`:                                                    false,
		`{"a":1e3}`:                                                   false,
		`{"a":1.5E3}`:                                                 false,
		`{"a":0.0}`:                                                   false,
		`{"a":0.0000001}`:                                             false,
		`{"a":1.}`:                                                    false,
		`{"a":.5}`:                                                    false,
		`{"a":1234567890123456,"b":0.00123456789012345678}`: false,
		`{"a":1234567890123456}`:                            true,
		`{"a":0.0012345678901234567,"b":5e-324,"c":1e+21}`:  true,
		`{"a":12345678901234567890}`:                        false,
		`{"a":1e21}`:                                        false,
		`{"a":"\/"}`:                                        false,
		`{"a":"\u0041"}`:                                    false,
		`{"a":"\u000a"}`:                                    false,
		`{"a":"\u001F"}`:                                    false,
		`{"a":"\ud83d\ude00"}`:                              false,
		`{"a":"\x"}`:                                        false,
		`{"a":"` + "\t" + `"}`:                              false,
		`{"a":"` + "\xff" + `"}`:                            false,
		`{"a":"` + "\xed\xa0\x80" + `"}`:                    false,
		`{"a":"b`:                                           false,
		`{"a":"b\`:                                          false,
		`{"a":"b\u00`:                                       false,
		`{`:                                                 false,
		``:                                                  false,
		`[]`:                                                false,
		`"a"`:                                               false,
	} {
		if _, got := PickTidy([]byte(in), nil, nil); got != want {
			t.Errorf("%s: %v", in, got)
		}
		// At each place of a word that is read in one go.
		for n := range 9 {
			padded := []byte(in)
			if len(in) > 1 && in[0] == '{' {
				padded = append(append([]byte(`{"`), bytes.Repeat([]byte("x"), 1+n)...), `":`+in+`}`...)
			}
			if _, got := PickTidy(padded, nil, nil); got != want {
				t.Errorf("%s: %v", padded, got)
			}
		}
	}
}

// anyText draws a JSON object as an agent may write it, or nearly one.
func anyText() *rapid.Generator[string] {
	names := rapid.SampledFrom([]string{`"a"`, `"id"`, `"v"`, `"role"`, `"1"`, `""`, `"\u0061"`, `"é"`, `"__proto__"`, `"content"`})
	leaf := rapid.SampledFrom([]string{`1`, `-0`, `1.50`, `0.1`, `1e9`, `null`, `true`, `"x"`, `"\n\u0001\"\\"`, `"\ud800"`, `"日"`, `"a longer text, \"quoted\" \\\\"`, `{}`, `[]`, "\"\xff\"", `x`})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			shape := rapid.IntRange(0, 5).Draw(t, "shape")
			if depth == 0 || shape < 2 {
				return leaf.Draw(t, "leaf")
			}
			var b []byte
			n := rapid.IntRange(0, 4).Draw(t, "n")
			for i := range n {
				if i > 0 {
					b = append(b, ',')
				}
				if shape < 5 {
					b = append(append(b, names.Draw(t, "name")...), ':')
				}
				b = append(b, value(depth-1).Draw(t, "value")...)
			}
			if shape < 5 {
				return "{" + string(b) + "}"
			}
			return "[" + string(b) + "]"
		})
	}
	return value(3)
}

// What is tidy is what JavaScript would write, is found by every way of looking
// at it, and what is known to be tidy may be read without looking at all of it.
func TestTidyReadsLikePick(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { tidyAsAnyOther(t, []byte(anyText().Draw(t, "text"))) })
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func tidyAsAnyOther(t failer, in []byte) {
	t.Helper()
	names := []string{"a", "id", "v", "role"}
	values := make([]Value, len(names))
	last, ok := PickTidy(in, names, values)
	if !ok {
		return
	}
	if v := Tidy(in).From(string(last)); last != nil && string(v.Value())+"}" != string(v) {
		t.Fatalf("%q: %s is not its last member", in, last)
	}
	if b, err := Append(nil, in); err != nil || !bytes.Equal(b, in) {
		t.Fatalf("tidy: %q, JavaScript writes %q, %v", in, b, err)
	}
	o, err := ParseObject(in)
	if err != nil {
		t.Fatalf("tidy: %q, %v", in, err)
	}
	glanced := make([]Value, len(names))
	Tidy(in).Pick(names, glanced)
	for i, name := range names {
		want := o.Get(name)
		if !bytes.Equal(values[i], want) || !bytes.Equal(glanced[i], want) {
			t.Fatalf("%q: %s is %q, picked %q, at a glance %q", in, name, want, values[i], glanced[i])
		}
		rest := Tidy(in).From(name)
		if (rest == nil) != (want == nil) || !bytes.HasPrefix(rest, want) {
			t.Fatalf("%q: from %s on it is %q", in, name, rest)
		}
		if want != nil && !bytes.Equal(rest.Value(), want) {
			t.Fatalf("%q: %s is %q, read %q", in, name, want, rest.Value())
		}
		inner, _ := ParseObject(want)
		for _, name := range names {
			if want := inner.Get(name); !bytes.Equal(rest.From(name).Value(), want) {
				t.Fatalf("%q: inside, %s is %q, read %q", in, name, want, rest.From(name).Value())
			}
		}
	}
}

// Of text that only claims to be tidy nothing is promised but that reading it
// ends.
func FuzzTidy(f *testing.F) {
	for _, c := range appended {
		f.Add([]byte(c.in))
	}
	f.Add([]byte(`{"a":"\`))
	f.Fuzz(func(t *testing.T, in []byte) {
		tidyAsAnyOther(t, in)
		Tidy(in).Pick([]string{"a", "v"}, make([]Value, 2))
		Tidy(in).From("a").From("b").Value()
	})
}
