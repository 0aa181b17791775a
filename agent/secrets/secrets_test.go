package secrets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/redact"
	"github.com/sesslog/sesslog/internal/testkit"
)

// The secrets of these tests are made up. They are put together here, so that nothing
// that searches this repository finds them.
var (
	token = "gh" + "p_" + "x7Kq2LmZ9vTr4WbN8sYc1DfG6hJp3Ea5RtUi"
	awsID = "AK" + "IA" + "QYLPMN5HHHFPZAM2"
	pem   = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEAwb3+8mZpK/Vt7yQ2c9LxTn5R\n", 4) + "-----END RSA PRIVATE " + "KEY-----"
)

func rulesOf(t testing.TB, own string) *Rules {
	t.Helper()
	r, err := parse(defaultConfig, []byte(own))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// escaped returns s with every character as a JSON escape.
func escaped(s string) (out string) {
	for _, r := range s {
		out += fmt.Sprintf(`\u%04x`, r)
	}
	return out
}

func TestSecretsOfLinesAreMasked(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "")
	for name, c := range map[string]struct{ line, want string }{
		"a text":             {`{"id":"a","text":"use ` + token + ` now"}`, `{"id":"a","text":"use [masked:github-pat] now"}`},
		"a text with breaks": {`{"text":` + quoted("\n"+token+"\n"+awsID+"\n") + `}`, `{"text":"\n[masked:github-pat]\n[masked:aws-access-token]\n"}`},
		"JSON in JSON":       {`{"arguments":` + quoted(`{"cmd":`+quoted(`echo "`+token+`"`)+`}`) + `}`, `{"arguments":` + quoted(`{"cmd":`+quoted(`echo "[masked:github-pat]"`)+`}`) + `}`},
		"a key over lines":   {`{"text":` + quoted("key:\n"+pem+"\nend") + `}`, `{"text":"key:\n[masked:private-key]\nend"}`},
		"a key that is cut":  {`{"a":` + quoted(pem[:90]) + `,"b":` + quoted(pem) + `}`, `{"a":"[masked:private-key]","b":"[masked:private-key]"}`},
		"several":            {`["` + token + `","` + awsID + `","` + token + `"]`, `["[masked:github-pat]","[masked:aws-access-token]","[masked:github-pat]"]`},
		"not JSON":           {"export T=" + token, "export T=[masked:github-pat]"},
		"escaped letters":    {`{"text":"use ` + escaped(token) + ` now","a":"` + escaped(token[:3]) + token[3:] + `"}`, `{"text":"use [masked:github-pat] now","a":"[masked:github-pat]"}`},
		"escapes in JSON":    {`{"arguments":` + quoted(`{"cmd":"`+escaped(token)+`"}`) + `}`, `{"arguments":` + quoted(`{"cmd":"[masked:github-pat]"}`) + `}`},
		"an escaped id":      {`{"toolCallId":"` + escaped(token) + `"}`, ""},
		"an id":              {`{"toolCallId":"` + token + `"}`, `{"toolCallId":"` + token + `"}`},
		"half of a secret":   {`{"access_key_id":"` + awsID + `"}`, `{"access_key_id":"[masked:aws-access-token]"}`},
		"a signature":        {`{"thinkingSignature":"x ` + token + `"}`, `{"thinkingSignature":"x ` + token + `"}`},
		"an image":           {`{"data":"` + strings.Repeat("iVBOR/", 500) + "/" + awsID + "/" + strings.Repeat("AAAA", 500) + `"}`, ""},
		"nothing":            {`{"text":"the token is in the usual place"}`, ""},
		"a mask":             {`{"text":"token=[masked:generic-api-key] key [masked:github-pat]"}`, ""},
	} {
		if c.want == "" {
			c.want = c.line
		}
		got := string(r.Mask([]byte(c.line)))
		if got != c.want {
			t.Errorf("%s:\n%s\nis\n%s\nwant\n%s", name, c.line, got, c.want)
		}
		if c.line != c.want && !redact.Covers([]byte(got), []byte(c.line)) {
			t.Errorf("%s: the masked line does not cover the line", name)
		}
	}
}

func TestMaskKeepsOtherLines(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "")
	in := "{\"a\":1}\n\n" + token + "\r\n{\"b\":2}\n" + token
	if got := string(r.Mask([]byte(in))); got != "{\"a\":1}\n\n[masked:github-pat]\r\n{\"b\":2}\n[masked:github-pat]" {
		t.Errorf("%q", got)
	}
	clean := []byte("{\"a\":1}\n")
	if got := r.Mask(clean); &got[0] != &clean[0] {
		t.Error("lines without secrets are copied")
	}
	if got := string(r.MaskText([]byte("x\n" + pem + "\ny"))); got != "x\n[masked:private-key]\ny" {
		t.Errorf("%q", got)
	}
}

func TestUserAddsRules(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, `
[extend]
disabledRules = ["github-pat"]
[[rules]]
id = "customer"
regex = '''\bcust-\d{6}\b'''
keywords = ["cust-"]
[rules.allowlist]
regexes = ['''cust-000000''']
[[rules]]
id = "grouped"
regex = '''pin=(\d+)-(\d+)'''
secretGroup = 2
`)
	in := "cust-123456 cust-000000 pin=1-23 " + token
	if got := string(r.Mask([]byte(in))); got != "[masked:customer] cust-000000 pin=1-[masked:grouped] "+token {
		t.Errorf("%q", got)
	}
	for what, text := range map[string]string{
		"no TOML": "[[", "no expression": "[[rules]]\nid='a'\nregex='('", "no id": "[[rules]]\nregex='a'", "no such group": "[[rules]]\nid='a'\nregex='a'\nsecretGroup=1",
	} {
		path := filepath.Join(t.TempDir(), "secrets.toml")
		testkit.WriteFile(t, path, []byte(text))
		if _, err := Read(path); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A secret is found wherever it stands in a long line, as without windows.
func TestLongLinesAreSearchedToTheirEnd(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "")
	filler := strings.Repeat("the key is not here, and the token neither; ", 3000)
	for _, secret := range []string{token, awsID, pem} {
		line := filler + secret + " " + filler + secret
		if got := r.Find([]byte(line)); len(got) != 2 || got[0].Start != len(filler) || got[1].End != len(line) {
			t.Errorf("%.12s: %v, want it at %d and at the end, %d", secret, got, len(filler), len(line))
		}
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Mode{"": Off, "off": Off, "report": Report, "mask": Masked} {
		if got, err := ParseMode(name); got != want || err != nil {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
	if _, err := ParseMode("hide"); !errors.Is(err, core.ErrInvalid) {
		t.Error(err)
	}
	r := rulesOf(t, "")
	for _, p := range []Policy{{}, {Off, nil}, {Report, r}, {Masked, r}} {
		masks, reports := !bytes.Equal(p.Mask([]byte(token)), []byte(token)), len(p.Report([]byte(token))) > 0
		if masks != (p.Mode == Masked) || reports != (p.Mode == Report) {
			t.Errorf("%s masks: %t, reports: %t", p.Mode, masks, reports)
		}
	}
}

// Whatever the line: JSON stays JSON, a mask is final, and what masks hide is all that
// differs.
func FuzzMask(f *testing.F) {
	f.Add([]byte(`{"text":"` + token + `","key":"` + awsID + `"}`))
	f.Add([]byte(`{"token":"\u003dx9fKq2LmZ9vTr4WbN8sYc1\\","a":"\\\"` + token + `\\n"}`))
	f.Add([]byte(`{"a":"x` + escaped(token) + `\\","b":"` + escaped(`"\`) + token + `"}`))
	f.Add([]byte(`{"a":` + quoted(pem) + `,"b":"[masked:x]` + token + `[masked:"}`))
	f.Add([]byte(`{"arguments":` + quoted(`{"password":"x9fKq2LmZ9vTr4WbN8sYc1"}`) + `}`))
	r := rulesOf(f, "[[rules]]\nid='any'\nregex='''s(.)cret:([^ ]*)'''\nsecretGroup=2\n[[rules]]\nid='wide'\nregex='''<<[\\s\\S]*>>'''")
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(line, []byte("\n"), nil)
		got := r.Mask(slices.Clone(line))
		if json.Valid(line) && !json.Valid(got) {
			t.Errorf("no JSON any more:\n%s\n%s", line, got)
		}
		if again := r.Mask(got); !bytes.Equal(again, got) {
			t.Errorf("masked again:\n%s\n%s\n%s", line, got, again)
		}
		if !bytes.Equal(got, line) && !redact.Covers(got, line) {
			t.Errorf("not covered:\n%s\n%s", line, got)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	r := rulesOf(b, "")
	line := []byte(`{"type":"message","id":"a","text":"` + strings.Repeat("the quick brown fox has no token, and jumps over the lazy dog. ", 200) + `"}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		r.Mask(line)
	}
}
