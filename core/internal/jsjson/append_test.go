package jsjson

import (
	"errors"
	"strings"
	"testing"
)

// appended holds JSON and what JSON.stringify(JSON.parse(x)) gives for it.
var appended = []struct{ name, in, want string }{
	{"WhiteSpaceGoes", " { \"a\" : [ 1 , 2 ] ,\t\"b\" : { } }\r\n", `{"a":[1,2],"b":{}}`},
	{"Words", `[true,false,null]`, `[true,false,null]`},

	{"Integer", `[0,7,-12,123456789012345]`, `[0,7,-12,123456789012345]`},
	{"MinusZero", `[-0,-0.0,-0e5]`, `[0,0,0]`},
	{"PointZero", `[1.0,10.50,-3.00]`, `[1,10.5,-3]`},
	{"TooLarge", `[1e400,-1e400]`, `[null,null]`},
	{"TooSmall", `1e-400`, `0`},
	{"MoreDigitsThanADouble", `12345678901234567890`, `12345678901234567000`},
	{"Safe", `[9007199254740991,9007199254740993]`, `[9007199254740991,9007199254740992]`},
	{"LargeWithoutExponent", `100000000000000000000`, `100000000000000000000`},
	{"LargeWithExponent", `[1e21,1.5E+22,1e100]`, `[1e+21,1.5e+22,1e+100]`},
	{"SmallWithoutExponent", `0.000001`, `0.000001`},
	{"SmallWithExponent", `[0.0000001,1.25e-9,5e-324]`, `[1e-7,1.25e-9,5e-324]`},
	{"Shortest", `[0.1,0.30000000000000004,0.3000000000000000444]`, `[0.1,0.30000000000000004,0.30000000000000004]`},

	{"IndicesFirst", `{"b":1,"10":2,"a":3,"9":4}`, `{"9":4,"10":2,"b":1,"a":3}`},
	{"LargestIndex", `{"a":0,"4294967295":1,"4294967294":2}`, `{"4294967294":2,"a":0,"4294967295":1}`},
	{"NoIndices", `{"a":0,"01":1,"-1":2,"1.5":3,"":4}`, `{"a":0,"01":1,"-1":2,"1.5":3,"":4}`},
	{"NameTwice", `{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
	{"NameTwiceInDisguise", `{"a":1,"b":2,"\u0061":3}`, `{"a":3,"b":2}`},
	{"IndexTwice", `{"x":0,"1":1,"0":2,"1":3}`, `{"0":2,"1":3,"x":0}`},
	{"Nested", `[{"a":{"1":[{"z":1,"z":2}],"0":0}}]`, `[{"a":{"0":0,"1":[{"z":2}]}}]`},
	{"Prototype", `{"__proto__":1,"a":2}`, `{"__proto__":1,"a":2}`},

	{"Escapes", `"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`},
	{"Controls", `"\u0000\u001F\u000a\u0008\u007f"`, `"\u0000\u001f\n\b` + "\x7f" + `"`},
	{"NothingElseEscaped", `"<>&\u003c\u2028\u2029é"`, "\"<>&<\u2028\u2029é\""},
	{"Pair", `"\ud83d\ude00\uD83D\uDE00"`, `"😀😀"`},
	{"LoneSurrogates", `"\uD800 \udc00\ud800\u0041\ud800"`, `"\ud800 \udc00\ud800A\ud800"`},
	{"HighBeforePair", `"\ud83d\ud83d\ude00"`, `"\ud83d😀"`},
	{"NameWithSurrogate", `{"\ud800":1,"\uD800":2}`, `{"\ud800":2}`},

	{"NoUTF8", "\"\xff|\xc0\xaf|\xed\xa0\x80\"", `"�|��|���"`},
	{"CutCharacters", "\"\xe2\x82|\xf0\x9f\x98|\xc3\"", `"�|�|�"`},
	{"BeyondUnicode", "\"\xf4\x90\x80\x80|\xf5\"", `"����|�"`},
	{"Overlong", "\"\xe0\x80\x80|\xf0\x80\x80\x80\"", `"���|����"`},
	{"NoUTF8InName", "{\"\xff\":1,\"\\ufffd\":2}", `{"�":2}`},
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range appended {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Append([]byte("x"), []byte(c.in))
			if err != nil || string(got) != "x"+c.want {
				t.Errorf("Append(%q) = %q, %v; want %q", c.in, got, err, c.want)
			}
		})
	}
}

var malformed = []string{
	``, ` `, `nul`, `nulll`, `tru`, `undefined`, `NaN`, `-`, `+1`, `01`, `1.`, `.5`, `1e`, `1e+`, `0x1`, `--1`,
	`[`, `[1`, `[1,]`, `[,1]`, `[1 2]`, `]`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a" 1}`, `{1:1}`,
	`"`, `"\`, `"\x"`, `"\u12"`, `"\u12G4"`, "\"\n\"", "\"\x00\"", `'a'`, `1 2`, `{} {}`, `{"a":1}x`, "\ufeff{}", "\u00a01",
}

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range malformed {
		if got, err := Append(nil, []byte(in)); !errors.Is(err, ErrSyntax) {
			t.Errorf("Append(%q) = %q, %v; want ErrSyntax", in, got, err)
		}
		if _, err := ParseObject([]byte(in)); !errors.Is(err, ErrSyntax) {
			t.Errorf("ParseObject(%q) = %v; want ErrSyntax", in, err)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	nest := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if got, err := Append(nil, nest(MaxDepth)); err != nil || len(got) != 2*MaxDepth {
		t.Errorf("at the limit: %d bytes, %v", len(got), err)
	}
	if _, err := Append(nil, nest(MaxDepth+1)); !errors.Is(err, ErrSyntax) {
		t.Errorf("behind the limit: %v", err)
	}
	if _, err := Append(nil, []byte(strings.Repeat(`{"a":[`, 1<<20))); !errors.Is(err, ErrSyntax) {
		t.Errorf("far behind the limit: %v", err)
	}
}

// TestNestedReorderingIsLinear would take minutes if an object were moved once
// for each object around it.
func TestNestedReorderingIsLinear(t *testing.T) {
	t.Parallel()
	const depth = MaxDepth - 1
	long := `"` + strings.Repeat("x", 1<<20) + `"`
	in := strings.Repeat(`{"b":0,"1":`, depth) + long + strings.Repeat("}", depth)
	want := strings.Repeat(`{"1":`, depth) + long + strings.Repeat(`,"b":0}`, depth)
	if got, err := Append(nil, []byte(in)); err != nil || string(got) != want {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
	}
}

// TestManyMembers crosses the size from which names are looked up in a map.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{fewMembers - 1, fewMembers, fewMembers + 1, 5 * fewMembers} {
		var in, want strings.Builder
		for i := range n {
			name := strings.Repeat("n", i+1)
			in.WriteString(`,"` + name + `":0`)
			want.WriteString(`,"` + name + `":1`)
		}
		src := "{" + in.String()[1:] + strings.ReplaceAll(in.String(), ":0", ":1") + "}"
		got, err := Append(nil, []byte(src))
		if err != nil || string(got) != "{"+want.String()[1:]+"}" {
			t.Errorf("%d names twice: %s, %v", n, got, err)
		}
		o, err := ParseObject([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := o.Append(nil); string(again) != string(got) {
			t.Errorf("%d names as an object: %s, %v", n, again, err)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                `""`,
		"a\"\\\n\x01<é😀":  `"a\"\\\n\u0001<é😀"`,
		"\xff\xe2\x82":    `"��"`,
		"\xed\xa0\x80":    `"���"`,
		"\u2028\ufffd":    "\"\u2028\ufffd\"",
		"tab\tdel\x7f/\r": "\"tab\\tdel\x7f/\\r\"",
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("AppendString(%q) = %s, want %s", in, got, want)
		}
	}
}
