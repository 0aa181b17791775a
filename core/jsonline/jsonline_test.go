package jsonline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/jsonline"
)

func members(line string) (names []string, err error) {
	err = jsonline.Members([]byte(line), func(name string, v jsontext.Value) { names = append(names, name+"="+string(v)) })
	return names, err
}

func TestMembers(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                "",
		` {"a": 1 , "b":[ 1,2 ] }` + "\r\t": "a=1|b=[ 1,2 ]",
		`{"a":1,"a":2}`:                     "a=1|a=2",
		`{"\u0061":"\u0062"}`:               `a="\u0062"`,
		"{\"a\":\"\xff\"}":                  "a=\"\xff\"",
		`{"":null}`:                         "=null",
		`{"a":1e999}`:                       "a=1e999",
		`{"a":"\ud800"}`:                    `a="\ud800"`,
		`{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`: "a=" + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		got, err := members(in)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%.60q has members %.100q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", " ", "null", "1", `"a"`, "[]", "{", "}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{'a':1}`, `{"a":1}{}`, `{"a":1} x`, "{}\x00", "\x00{}",
		"\xef\xbb\xbf{}", `{"a":01}`, `{"a":NaN}`, "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", `{"a":"\x"}`, `{"a":tru}`, "{}}", "{},",
		strings.Repeat(`{"a":`, 1_000_000), `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		if got, err := members(in); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%.60q has members %.100q, %v", in, got, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("%.60q: an error of %d bytes", in, len(err.Error()))
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,"x"]},"a":null}`))
	f.Add([]byte("{\"a\":\"\xff\\ud800\"} \t"))
	f.Fuzz(func(t *testing.T, in []byte) {
		was := string(in)
		err := jsonline.Members(in, func(_ string, v jsontext.Value) {
			if _, ok := jsonline.Text(v); ok != (v.Kind() == '"') {
				t.Errorf("text of %q", v)
			}
		})
		if err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Errorf("an error of no kind: %v", err)
		}
		if string(in) != was {
			t.Error("the line was changed")
		}
	})
}
