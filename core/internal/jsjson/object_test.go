package jsjson

import (
	"slices"
	"testing"
)

func TestObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		change   func(o *Object)
		want     string
	}{
		{"Unchanged", `{"b":1.0,"a":2}`, func(*Object) {}, `{"b":1,"a":2}`},
		{"SetInPlace", `{"a":1,"b":2}`, func(o *Object) { o.Set("a", Value("3")) }, `{"a":3,"b":2}`},
		{"SetAtEnd", `{"a":1}`, func(o *Object) { o.Set("b", Value("2")) }, `{"a":1,"b":2}`},
		{"SetIndex", `{"a":1}`, func(o *Object) { o.Set("7", Value("2")) }, `{"7":2,"a":1}`},
		{"Undefined", `{"a":1,"b":2}`, func(o *Object) { o.Set("a", nil) }, `{"b":2}`},
		{"UndefinedKeepsItsPlace", `{"a":1,"b":2}`, func(o *Object) { o.Set("a", nil); o.Set("a", Value("3")) }, `{"a":3,"b":2}`},
		{"Delete", `{"a":1,"b":2,"a":3}`, func(o *Object) { o.Delete("a"); o.Delete("c") }, `{"b":2}`},
		{"DeletedComesBackAtEnd", `{"a":1,"b":2}`, func(o *Object) { o.Delete("a"); o.Set("a", Value("3")) }, `{"b":2,"a":3}`},
		{"EscapedName", `{"\u0061":1}`, func(o *Object) { o.Set("a", o.Get("a")) }, `{"a":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, err := ParseObject([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			c.change(&o)
			if got, err := o.Append(nil); err != nil || string(got) != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestSetNoJSON(t *testing.T) {
	t.Parallel()
	var o Object
	o.Set("a", Value("{"))
	if b, err := o.Append(nil); err == nil {
		t.Errorf("appended %s", b)
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in             string
		truthy, nullis bool
	}{
		{``, false, true},
		{`null`, false, true},
		{`false`, false, false},
		{`true`, true, false},
		{`0`, false, false},
		{`-0.0`, false, false},
		{`1e-400`, false, false},
		{`1e400`, true, false},
		{`-1`, true, false},
		{`""`, false, false},
		{`"0"`, true, false},
		{`[]`, true, false},
		{`{}`, true, false},
	} {
		v := Value(c.in)
		if v.Truthy() != c.truthy || v.IsNullish() != c.nullis {
			t.Errorf("%q: truthy %v, nullish %v", c.in, v.Truthy(), v.IsNullish())
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"a"`: "a", `""`: "", `"\u0061\n\"\\"`: "a\n\"\\", `"\ud83d\ude00"`: "😀", `"\ud800"`: "\ufffd", "\"\xe2\x82\"": "\ufffd", `"\u0000"`: "\x00",
	} {
		if got, ok := Value(in).Text(); !ok || got != want {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
	for _, in := range []string{``, `5`, `null`, `[]`, `{}`} {
		if got, ok := Value(in).Text(); ok {
			t.Errorf("%s: %q", in, got)
		}
	}
	for in, want := range map[string]bool{`"role"`: true, `"\u0072ole"`: true, `"rol"`: false, `"roles"`: false, `role`: false, ``: false} {
		if Value(in).Is("role") != want {
			t.Errorf("%s is role: %v", in, !want)
		}
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	var got []string
	err := Each([]byte(` [1, [2] ,{"a":3}] `), func(v Value) { got = append(got, string(v)) })
	if err != nil || !slices.Equal(got, []string{"1", "[2]", `{"a":3}`}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, in := range []string{``, `{}`, `[1`, `[1]2`, `null`} {
		if Each([]byte(in), func(Value) {}) == nil {
			t.Errorf("%q is an array", in)
		}
	}
}
