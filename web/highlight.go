package web

import (
	"html/template"
	"regexp"
	"strings"
	"sync"
)

// maxCode bounds the code that is highlighted, in bytes.
const maxCode = 20 << 10

// codeBlock returns code of a language as HTML; without highlighting if it is large or
// of a language that is not known.
func codeBlock(language, code string) template.HTML {
	return template.HTML(`<pre class="code" tabindex="0">` + string(highlight(language, code)) + `</pre>`) // #nosec G203 -- escaped by highlight
}

// highlight marks comments, strings, numbers, keywords and calls in code. All languages
// of a family share their rules, which is precise enough to read by.
func highlight(language, code string) template.HTML {
	tokens := families()[strings.ToLower(language)]
	if tokens == nil || len(code) > maxCode {
		return template.HTML(template.HTMLEscapeString(code)) // #nosec G203 -- escaped
	}
	var b strings.Builder
	at := 0
	for _, m := range tokens.FindAllStringSubmatchIndex(code, -1) {
		template.HTMLEscape(&b, []byte(code[at:m[0]]))
		at = m[1]
		token := code[m[0]:at]
		class := classOf(tokens, m, token, strings.HasPrefix(code[at:], "("))
		if class != "" {
			b.WriteString(`<span class="` + class + `">`)
		}
		template.HTMLEscape(&b, []byte(token))
		if class != "" {
			b.WriteString(`</span>`)
		}
	}
	template.HTMLEscape(&b, []byte(code[at:]))
	return template.HTML(b.String()) // #nosec G203 -- escaped
}

// classOf returns the class of a token: the name of the group that it matched, or what
// kind of word it is.
func classOf(tokens *regexp.Regexp, match []int, token string, isCalled bool) string {
	for i, name := range tokens.SubexpNames() {
		if name == "" || match[2*i] < 0 {
			continue
		}
		switch {
		case name != "word":
			return name
		case keywords()[strings.ToLower(token)]:
			return "k"
		case isCalled:
			return "nf"
		}
	}
	return ""
}

// families returns the tokens of each language that is known. A token that has begun
// always matches, up to the end of the line or the code if it is not closed: otherwise
// the rest of the code would be read again for each token after it.
var families = sync.OnceValue(func() map[string]*regexp.Regexp {
	const rest = `|(?P<s>"""(?s:.*?)(?:"""|\z)|"(?:[^"\\\n]|\\.)*"?|(?:\B|\b[bBfFrRuUL]{1,2})'(?:[^'\\\n]|\\.)*'?|` + "`[^`]*`?" + `)|(?P<m>\b\d[\w.]*)|(?P<word>[\pL_]\w*)`
	all := map[string]*regexp.Regexp{}
	for languages, tokens := range map[string]string{
		"go js jsx ts tsx javascript typescript java c cc cpp c++ h cs csharp rust rs swift kotlin scala php dart zig css scss json jsonc proto": `(?P<c>//.*|/\*(?s:.*?)(?:\*/|\z))` + rest,
		"python py sh bash shell zsh console ruby rb perl r yaml yml toml ini make makefile dockerfile elixir nix hcl terraform powershell":      `(?P<c>(?m:^|\s)#.*)` + rest,
		"sql lua haskell hs elm ada":  `(?P<c>--.*)` + rest,
		"html xml svg vue svelte jsp": `(?P<c><!--(?s:.*?)(?:-->|\z))|(?P<k></?[\w:-]+|/?>)|(?P<s>"[^"\n]*"?)`,
		"diff patch":                  `(?m)(?P<gi>^\+.*)|(?P<gd>^-.*)|(?P<gu>^@@.*)`,
	} {
		compiled := regexp.MustCompile(tokens)
		for name := range strings.FieldsSeq(languages) {
			all[name] = compiled
		}
	}
	return all
})

// keywords returns words that many languages give a meaning.
var keywords = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(`
		abstract and any as async await begin bool boolean break byte case catch chan char class const continue create
		def default defer delete desc do done double drop elif else elsif end enum esac except export extends false fi
		final finally float fn for from func function go group goto having if impl implements import in inner insert int
		interface into is join lambda left let limit local long loop map match mod module mut namespace new nil none not
		null nullptr number of on or order override package pass private protected pub public raise range require return
		returns select self set short sizeof static string struct super switch table template then this throw throws
		trait true try type typedef typeof union unless unsafe until update use using values var virtual void volatile
		when where while with yield`) {
		all[word] = true
	}
	return all
})
