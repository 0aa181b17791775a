package cli

import (
	"encoding/json"
	"testing"
	"unicode"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                    "",
		"as it is":            "as it is",
		" a  b\n\tc ":         "a b c",
		"\x1b[31mred\x07\x7f": "␛[31mred␇␡",
		"\x00":                "␀",
		"c1 \u009b2J":         `c1 \u009b2J`,
		"abc\u202edef":        `abc\u202edef`,
		"\ufeffmark":          `\ufeffmark`,
		"tag \U000e0041":      `tag \ue0041`,
		"line\u2028end":       "line end",
		"日本語 ünï 😀":           "日本語 ünï 😀",
		"می\u200cخواهم":       "می\u200cخواهم",
		"bad \xff byte":       "bad \ufffd byte",
		"a\r\nb":              "a b",
	} {
		if got := Plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b[31m \u009b \u202e 日本語 \xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Plain(s)
		for _, r := range got {
			if unicode.IsControl(r) || IsControl(r) {
				t.Fatalf("plain(%q) = %q has %q", s, got, r)
			}
		}
		if again := Plain(got); again != got {
			t.Fatalf("plain of %q is %q", got, again)
		}
	})
}

func TestEscapeJSONKeepsTheValue(t *testing.T) {
	t.Parallel()
	in := "{\"a\":\"\u009b\u202e\x7f日本\U000e0041\u200d\"}\n"
	out := EscapeJSON([]byte(in))
	for _, r := range string(out) {
		if r != '\n' && IsControl(r) {
			t.Errorf("%q is left in %q", r, out)
		}
	}
	var before, after map[string]string
	if err := json.Unmarshal([]byte(in), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &after); err != nil {
		t.Fatal(err)
	}
	if before["a"] != after["a"] {
		t.Errorf("%q became %q", before["a"], after["a"])
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 8, "short"},
		{"exactly8", 8, "exactly8"},
		{"more than 8", 8, "more th…"},
		{"日本語日本語", 8, "日本語…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}
