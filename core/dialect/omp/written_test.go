package omp_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/agentfile"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/image"
)

const cutNotice = `\n\n[Session persistence truncated large content]`

func written(line string) string { return string(omp.Dialect{}.AsWritten([]byte(line))) }

// ref is how a line names an image that omp keeps apart.
func ref(raw string) string { return fmt.Sprintf("blob:sha256:%x", sha256.Sum256([]byte(raw))) }

// OMP-35: strings of more than 500,000 UTF-16 units are cut, and say so.
func TestAsWrittenTruncatesLongText(t *testing.T) {
	t.Parallel()
	const kept = 500_000 - 47
	x := func(n int) string { return strings.Repeat("x", n) }
	for what, c := range map[string]struct{ text, want string }{
		"as long as may be":            {x(500_000), x(500_000)},
		"one longer":                   {x(500_001), x(kept) + cutNotice},
		"an escape is one unit":        {strings.Repeat(`\n`, 500_001), strings.Repeat(`\n`, kept) + cutNotice},
		"as many units in fewer runes": {strings.Repeat("😀", 250_000), strings.Repeat("😀", 250_000)},
		"no half of a character":       {strings.Repeat("😀", 250_001), strings.Repeat("😀", kept/2) + cutNotice},
		"nor one that stood alone":     {x(kept-1) + `\ud83d` + x(100), x(kept-1) + cutNotice},
		"the second half may stay":     {x(kept-1) + `\ude00` + x(100), x(kept-1) + `\ude00` + cutNotice},
		"three bytes are one unit":     {strings.Repeat("語", 500_000), strings.Repeat("語", 500_000)},
		"and are cut between":          {strings.Repeat("語", 500_001), strings.Repeat("語", kept) + cutNotice},
	} {
		before, after := stored("u", `{"role":"user","content":"`), `"}}`
		before = strings.TrimSuffix(before, "}")
		if got := written(before + c.text + after); got != before+c.want+after {
			t.Errorf("%s: %d bytes, want %d", what, len(got), len(before+c.want+after))
		}
	}
}

// OMP-35: what a provider signed or sealed stays whole, and what it did not,
// does not.
func TestAsWrittenKeepsSealedText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500_001)
	cut := long[:500_000-47] + cutNotice
	for _, form := range []struct {
		block  string
		sealed bool
	}{
		{`{"type":"thinking","thinking":"%s","thinkingSignature":"s"}`, true},
		{`{"type":"thinking","thinking":"%s","thinkingSignature":""}`, false},
		{`{"type":"thinking","thinking":"%s"}`, false},
		{`{"type":"text","text":"%s","textSignature":"s"}`, true},
		{`{"type":"text","text":"%s"}`, false},
		{`{"type":"toolCall","arguments":{"a":["%s"]},"thoughtSignature":"s"}`, true},
		{`{"type":"toolCall","arguments":{"a":["%s"]}}`, false},
		{`{"type":"redactedThinking","data":"%s"}`, true},
		{`{"type":"reasoning","encrypted_content":"%s"}`, true},
		{`{"type":"reasoning","encrypted_content":"","text":"%s"}`, false},
		{`{"type":"anthropicCompaction","content":"%s"}`, true},
		{`{"type":"other","textSignature":"%s"}`, true},
		{`{"type":"other","thoughtSignature":"%s"}`, true},
		{`{"type":"anthropicServerTool","block":{"type":"server_tool_use","name":"web_search","id":"i","input":"%s"}}`, true},
		{`{"type":"anthropicServerTool","block":{"type":"server_tool_use","name":"web_search","id":"","input":"%s"}}`, false},
		{`{"type":"anthropicServerTool","block":{"type":"server_tool_use","name":"other","id":"i","input":"%s"}}`, false},
		{`{"type":"anthropicServerTool","block":{"type":"web_search_tool_result","tool_use_id":"i","content":"%s"}}`, true},
		{`{"type":"anthropicServerTool","block":{"type":"web_search_tool_result","tool_use_id":"i","more":"%s"}}`, false},
		{`{"anthropicCompaction":{"content":"%s"}}`, true},
		{`{"anthropicCompaction":{"other":"%s"}}`, false},
	} {
		in := stored("a", `{"role":"assistant","content":[`+fmt.Sprintf(form.block, long)+`]}`)
		want := stored("a", `{"role":"assistant","content":[`+fmt.Sprintf(form.block, cut)+`]}`)
		if form.sealed {
			want = in
		}
		if got := written(in); got != want {
			t.Errorf("%s: %d bytes, want %d", form.block, len(got), len(want))
		}
	}
}

// OMP-36: jsonlEvents go, partialJson stays (18.3.4 writes it), and lineCount is
// that of the text that is left.
func TestAsWrittenOmitsTransientMembers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`a\n`, 250_001)
	for what, c := range map[string]struct{ in, want string }{
		"events":                        {`{"a":{"jsonlEvents":[1],"b":2}}`, `{"a":{"b":2}}`},
		"events with an escaped name":   {`{"a":{"jsonl\u0045vents":[1],"b":2}}`, `{"a":{"b":2}}`},
		"partial JSON":                  {`{"partialJson":"{","b":1.0}`, `{"partialJson":"{","b":1.0}`},
		"a count with nothing to count": {`{"jsonlEvents":1,"lineCount":7}`, `{"lineCount":7}`},
		"a count of text": {
			`{"content":"` + long + `","lineCount":250002}`,
			`{"content":"` + strings.Repeat(`a\n`, 249_976) + "a" + cutNotice + `","lineCount":249979}`,
		},
		"a count of text that stays": {`{"content":"a\nb","lineCount":9}`, `{"content":"a\nb","lineCount":9}`},
		"a count beside what goes":   {`{"content":"a\nb","lineCount":9,"jsonlEvents":1}`, `{"content":"a\nb","lineCount":2}`},
		"signatures the history repeats": {
			stored("a", `{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"r\"}"},{"type":"thinking","thinkingSignature":"other"}],"providerPayload":{"type":"openaiResponsesHistory","items":[{"type":"reasoning","id":"r"}]}}`),
			stored("a", `{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"thinking","thinkingSignature":"other"}],"providerPayload":{"type":"openaiResponsesHistory","items":[{"type":"reasoning","id":"r"}]}}`),
		},
		"sealed ones by their content": {
			stored("a", `{"role":"assistant","content":[{"type":"thinking","thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"x\"}"}],"providerPayload":{"type":"openaiResponsesHistory","items":[{"type":"reasoning","id":"r","encrypted_content":"y"}]}}`),
			stored("a", `{"role":"assistant","content":[{"type":"thinking","thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"x\"}"}],"providerPayload":{"type":"openaiResponsesHistory","items":[{"type":"reasoning","id":"r","encrypted_content":"y"}]}}`),
		},
		"what a file has": {
			stored("r", `{"role":"toolResult","details":{"serverName":"s","mcpToolName":"t","structuredContent":{"x":1},"meta":{"truncation":{"artifactId":"1"}}}}`),
			stored("r", `{"role":"toolResult","details":{"serverName":"s","mcpToolName":"t","meta":{"truncation":{"artifactId":"1"}}}}`),
		},
		"what no file has": {
			stored("r", `{"role":"toolResult","details":{"serverName":"s","mcpToolName":"t","structuredContent":{"x":1},"meta":{}}}`),
			stored("r", `{"role":"toolResult","details":{"serverName":"s","mcpToolName":"t","structuredContent":{"x":1},"meta":{}}}`),
		},
		"no JSON": {`{"jsonlEvents":`, `{"jsonlEvents":`},
	} {
		if got := written(c.in); got != c.want {
			t.Errorf("%s: %.300s, want %.300s", what, got, c.want)
		}
	}
}

// OMP-37: images of 1,024 characters and more are references where omp keeps
// them apart; a reference stays as it is, byte for byte.
func TestImagesAreReferencesInTheFile(t *testing.T) {
	t.Parallel()
	raw := strings.Repeat("pixels", 128)
	large := base64.StdEncoding.EncodeToString([]byte(raw))
	if len(large) != 1024 {
		t.Fatal(len(large))
	}
	small := large[:1020]
	url := "data:image/png;base64,AAAA"
	for _, c := range []struct{ in, want string }{
		{`{"content":[{"type":"image","data":"` + large + `","mimeType":"image/png"}]}`, `{"content":[{"type":"image","data":"` + ref(raw) + `","mimeType":"image/png"}]}`},
		{`{"content":[{"type":"image","data":"` + small + `"}]}`, ``},
		{`{"content":[{"type":"image","data":"blob:sha256:` + large + `"}]}`, ``},
		{`{"content":[ {"type":"image","data":"` + ref("x") + `"} ]}`, ``},
		{`{"other":[{"type":"image","data":"` + large + `"}]}`, ``},
		{`{"images":[{"mimeType":"IMAGE/png","data":"` + large + `"}]}`, `{"images":[{"mimeType":"IMAGE/png","data":"` + ref(raw) + `"}]}`},
		{`{"content":[{"mimeType":"image/png","data":"` + large + `"}]}`, ``},
		{`{"frames":[{"type":"image","data":"` + large + `"}]}`, `{"frames":[{"type":"image","data":"` + ref(raw) + `"}]}`},
		{`{"a":{"type":"image_generation_call","result":"` + large + `"}}`, `{"a":{"type":"image_generation_call","result":"` + ref(raw) + `"}}`},
		{`{"image_url":"` + url + `"}`, `{"image_url":"` + ref(url) + `"}`},
		{`{"image_url":"https://x/y.png"}`, ``},
		{`{"content":[{"type":"image","data":"` + strings.TrimRight(large, "=") + `*"}]}`, `{"content":[{"type":"image","data":"` + ref(raw) + `"}]}`},
	} {
		if c.want == "" {
			c.want = c.in
		}
		if got := written(c.in); got != c.want {
			t.Errorf("%.80s…: %.200s", c.in, got)
		}
	}
}

// OMP-35, OMP-37: a file that has less of a line than the log, because omp
// writes less, contradicts nothing and adds nothing.
func TestMissingAcceptsShortenedLine(t *testing.T) {
	t.Parallel()
	raw := strings.Repeat("pixels", 300)
	image := `{"type":"image","data":"` + base64.StdEncoding.EncodeToString([]byte(raw)) + `","mimeType":"image/png"}`
	for what, c := range map[string]struct {
		line   string
		change func(string) string
		want   error
	}{
		"cut":             {stored("u", `{"role":"user","content":"`+strings.Repeat("x", 500_001)+`"}`), written, nil},
		"an image apart":  {stored("u", `{"role":"user","content":[`+image+`]}`), written, nil},
		"both":            {stored("u", `{"role":"user","content":[`+image+`,{"type":"text","text":"`+strings.Repeat("x", 500_001)+`"}]}`), written, nil},
		"events left out": {stored("u", `{"role":"toolResult","details":{"jsonlEvents":[1]}}`), written, nil},
		"cut somewhere else": {
			stored("u", `{"role":"user","content":"`+strings.Repeat("x", 500_001)+`"}`),
			func(s string) string { return strings.Replace(written(s), "x", "", 1) }, core.ErrConflict,
		},
		"something else": {stored("u", `{"role":"user","content":"a"}`), func(s string) string { return strings.Replace(s, `"a"`, `"b"`, 1) }, core.ErrConflict},
	} {
		file := inLog(t, c.change(c.line))
		fresh, err := agentfile.Missing(opened(t, inLog(t, c.line)), &core.File{Header: headerOf(t), Entries: []core.Entry{file}, Lines: []int{2}})
		if len(fresh) != 0 || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %d lines, %v", what, len(fresh), err)
		}
	}
}

// OMP-33, OMP-42: omp copies the title into the header when it rewrites the
// file, and its current directory; it is still the same session.
func TestMissingAcceptsRewrittenHeader(t *testing.T) {
	t.Parallel()
	e := inLog(t, hello)
	for what, c := range map[string]struct {
		header string
		same   bool
	}{
		"a title":            {strings.Replace(header, `"cwd"`, `"title":"T","titleSource":"user","cwd"`, 1), true},
		"more directories":   {strings.TrimSuffix(header, "}") + `,"additionalDirectories":["/x"]}`, true},
		"another directory":  {strings.Replace(header, "/home/dev/project", "/home/dev/moved", 1), true},
		"another version":    {strings.Replace(header, `"version":3`, `"version":4`, 1), false},
		"something more":     {strings.TrimSuffix(header, "}") + `,"x":1}`, false},
		"something not JSON": {`{"type"`, false},
	} {
		f := &core.File{Header: core.Header{Line: []byte(c.header)}, Entries: []core.Entry{e}, Lines: []int{2}}
		if _, err := agentfile.Missing(opened(t, e), f); (err == nil) != c.same {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// opened is the session in the log that holds e.
func opened(t *testing.T, e core.Entry) *core.State {
	t.Helper()
	s := core.NewState("log", "session1", core.Dialects{"omp": omp.Dialect{}})
	r := &core.Record{Kind: core.KindOpen, Seq: 1, Head: core.MainHead, Writer: "w", Pos: 1}
	r.Body = []byte(`{"dialect":"omp"}` + "\n" + header + "\n" + string(e.Line))
	r.Chain = s.Chain.Next(r)
	if err := s.Apply(r); err != nil {
		t.Fatal(err)
	}
	return s
}

func headerOf(t *testing.T) core.Header {
	t.Helper()
	h, err := omp.Dialect{}.Header([]byte(header))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// inLog is a line as the log keeps it.
func inLog(t *testing.T, line string) core.Entry {
	t.Helper()
	kept, _ := image.Externalize([]byte(line))
	e, err := omp.Dialect{}.Entry(kept)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
