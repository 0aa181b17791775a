package jsjson

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPick(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"id":1,"role":"x"}`:                    `1|"x"`,
		` { "role" : [1 ,2] , "id" : null } `:    `null|[1 ,2]`,
		`{"id":1,"id":2}`:                        `2|`,
		`{"\u0069d":3}`:                          `3|`,
		`{"ID":1,"v":{"id":2}}`:                  `|`,
		`{}`:                                     `|`,
		`{"id":{"role":1},"x":"\"id\":7","y":1}`: `{"role":1}|`,
	} {
		values := []Value{Value("left over"), nil}
		if err := Pick([]byte(in), []string{"id", "role"}, values); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if got := string(values[0]) + "|" + string(values[1]); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// PickAgain finds what Pick finds, also with white space wherever JSON allows it.
func TestPickAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyText().Draw(t, "text")
		pickAsObjects(t, []byte(in))
		spaces := strings.NewReplacer("{", " {\t", "}", "\n} ", "[", "[ ", "]", " ]", ",", " , ", ":", " : ")
		pickAsObjects(t, []byte(spaces.Replace(in)))
	})
}

func TestPickIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, member, role string
		same             bool
	}{
		{`{"v":{"role":"x","n":[1,"é",-0.5]}}`, `{"role":"x","n":[1,"é",-0.5]}`, `"x"`, true},
		{`{ "v" : { "role" : "x" } }`, `{ "role" : "x" }`, `"x"`, false},
		{`{"v":{"role":"x","n":1.0}}`, `{"role":"x","n":1.0}`, `"x"`, false},
		{`{"v":{"role":"x","role":"y"}}`, `{"role":"x","role":"y"}`, `"y"`, false},
		{`{"v":{"role":"x","7":1}}`, `{"role":"x","7":1}`, `"x"`, false},
		{`{"v":{"role":"x"},"v":[]}`, `[]`, ``, false},
		{`{"v":[],"v":{"role":"x"}}`, `{"role":"x"}`, `"x"`, true},
		{`{"role":"outside"}`, ``, ``, false},
		{`{"v":{"role":"\ud800"}}`, `{"role":"\ud800"}`, `"\ud800"`, false},
	} {
		values := []Value{Value("left over")}
		member, same, err := PickIn([]byte(c.in), "v", []string{"role"}, values)
		if err != nil || string(member) != c.member || same != c.same || string(values[0]) != c.role {
			t.Errorf("%s: %s, %v, %s, %v", c.in, member, same, values[0], err)
		}
	}
	for _, in := range []string{`[]`, `{`, `{"v":{"role":}}`, `{"v":{}}}`, `{"v":{},}`, `{"v" {}}`, `{"v":{"a":1 "b":2}}`, `{"v":{"role":1}`} {
		if _, _, err := PickIn([]byte(in), "v", []string{"role"}, make([]Value, 1)); err == nil {
			t.Errorf("%s is taken", in)
		}
	}
}
