package claude

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/dialecttest"
	"github.com/sesslog/sesslog/core/dialect/internal/envelope"
	"github.com/sesslog/sesslog/core/item"
)

func TestFolder(t *testing.T) {
	t.Parallel()
	for cwd, want := range map[string]string{
		"/a.b_c":     "-a-b-c",
		"/tmp/日本":    "-tmp---",
		"/é😀":        "----",
		"/e\u0301":   "-e-",
		"C:\\x Y":    "C--x-Y",
		"/Users/Me1": "-Users-Me1",
	} {
		if got := Folder(cwd); got != want {
			t.Errorf("%q: %s, want %s", cwd, got, want)
		}
	}
	long := "/" + strings.Repeat("a", 199)
	if got := Folder(long); len(got) != 200 {
		t.Errorf("a name of 200 characters became %s", got)
	}
	if got := Folder(long + "b"); len(got) <= 201 || !strings.HasPrefix(got, Folder(long)+"-") {
		t.Errorf("a longer name became %s", got)
	}
}

func TestLeaf(t *testing.T) {
	t.Parallel()
	a, b := prompt(0, "a", "", "one"), answer(10, "b", "a", "m1", words("hi"))
	c, d := prompt(20, "c", "b", "two"), prompt(30, "d", "a", "other")
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"the last line":             {[]string{a, b, c}, "c"},
		"a record of an ancestor":   {[]string{a, b, leafLine("b"), c}, "c"},
		"a record of a branch":      {[]string{a, b, c, d, leafLine("c")}, "c"},
		"a branch after its record": {[]string{a, b, c, leafLine("c"), d}, "c"},
		"a record of nothing":       {[]string{a, b, c, leafLine("zz")}, "c"},
		"an empty record":           {[]string{a, b, `{"type":"last-prompt","leafUuid":null}`}, "b"},
		"a sub-agent's line":        {[]string{a, b, strings.Replace(c, `"isSidechain":false`, `"isSidechain":true`, 1)}, "b"},
		"cleared, then a line":      {[]string{a, `{"type":"last-prompt","leafUuid":null,"explicit":true}`, b}, "b"},
		"cleared":                   {[]string{a, b, `{"type":"last-prompt","leafUuid":null,"explicit":true}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := session(t, test.lines...)
			if got, _ := (Dialect{}).Leaf(f.Entries).ID(); got != test.want {
				t.Errorf("leaf %q, want %q", got, test.want)
			}
			checkHeads(t, f)
		})
	}
}

// The agent takes the last of the lines with one uuid, however long they are.
func TestContextTakesTheLastOfRepeatedLines(t *testing.T) {
	t.Parallel()
	for _, long := range []int{10, 300_000, 700_000} {
		f := session(t,
			prompt(0, "u0", "", "old"), prompt(1000, "u0", "", "new "+strings.Repeat("x", long)), answer(2000, "a0", "u0", "m0", words("yes")),
		)
		if got := sent(t, f, core.LeafAt("a0")); !strings.Contains(got, "new x") || strings.Contains(got, "old") {
			t.Errorf("with %d characters: %.200s", long, got)
		}
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	boundary := func(head, tail, anchor string) string {
		return say(50, "system", "k", "", `"subtype":"compact_boundary","logicalParentUuid":"d","compactMetadata":{"preservedSegment":{"headUuid":"`+head+`","anchorUuid":"`+anchor+`","tailUuid":"`+tail+`"}}`)
	}
	summary := say(51, "user", "s", "k", `"isCompactSummary":true,"message":{"role":"user","content":"sum"}`)
	turn := []string{prompt(0, "a", "", "one"), answer(1, "b", "a", "m1", words("hi")), prompt(2, "c", "b", "two"), answer(3, "d", "c", "m2", words("ho"))}
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"turns":    {turn, "u: one | a: hi | u: two | a: ho"},
		"reversed": {[]string{turn[3], turn[2], turn[1], turn[0], leafLine("d")}, "u: one | a: hi | u: two | a: ho"},
		"parallel calls": {[]string{
			prompt(0, "a", "", "one"), answer(1, "b", "a", "m", call("t1")), answer(2, "c", "b", "m", call("t2")),
			result(4, "r2", "c", "t2"), result(3, "r1", "b", "t1"), answer(5, "e", "r2", "m2", words("done")),
		}, "u: one | a: t1, t2 | u: t1, t2 | a: done"},
		"a call that failed before an earlier one ended": {[]string{
			prompt(0, "a", "", "one"), answer(1, "b", "a", "m", call("t1")), answer(2, "c", "b", "m", call("t2")),
			result(4, "r1", "b", "t1"), result(3, "r2", "c", "t2"), answer(5, "e", "r2", "m2", words("done")),
		}, "u: one | a: t1, t2 | u: t1, t2 | a: done"},
		"a call that ended before the next one was written": {[]string{
			prompt(0, "a", "", "one"), answer(1, "b", "a", "m", call("t1")), result(2, "r1", "b", "t1"), answer(3, "c", "r1", "m", call("t2")),
			result(4, "r2", "c", "t2"), answer(5, "e", "r2", "m2", words("done")),
		}, "u: one | a: t1, t2 | u: t1, t2 | a: done"},
		"one id in two turns": {[]string{turn[0], turn[1], turn[2], answer(3, "d", "c", "m1", words("ho"))}, "u: one | a: hi | u: two | a: ho"},
		"an error of the API in a turn": {[]string{
			turn[0], answer(1, "b", "a", "m", call("t1")), result(2, "r1", "b", "t1"),
			say(3, "assistant", "e", "r1", `"isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","role":"assistant","content":[`+words("bad")+`]}`),
		}, "u: one | a: t1 | u: t1, Continue from where you left off. | a: No response requested."},
		"a killed call": {[]string{
			prompt(0, "a", "", "one"), answer(1, "b", "a", "m", call("t1")), answer(2, "c", "b", "m", call("t2")), result(3, "r1", "b", "t1"),
		}, "u: one | a: t1 | u: t1, Continue from where you left off. | a: No response requested."},
		"an interrupted prompt": {turn[:3], "u: one | a: hi | u: two | a: No response requested."},
		"a silent answer":       {[]string{turn[0], answer(1, "b", "a", "m", words(" ")), turn[2], turn[3]}, "u: one, two | a: ho"},
		"a compaction":          {append(turn[:4:4], boundary("d", "d", "s"), summary, prompt(60, "n", "s", "three"), answer(61, "o", "n", "m3", words("hm"))), "u: sum | a: ho | u: three | a: hm"},
		"a lost segment":        {append(turn[:4:4], boundary("x", "d", "s"), summary, answer(61, "o", "s", "m3", words("hm"))), "u: sum | a: hm"},
		"a segment before":      {append(turn[:4:4], boundary("a", "b", "k"), summary, answer(61, "o", "s", "m3", words("hm"))), "u: one | a: hi | u: sum | a: hm"},
		"a branch of a preserved line": {
			append(turn[:4:4], boundary("d", "d", "s"), summary, prompt(60, "n", "d", "three"), answer(61, "o", "n", "m3", words("hm"))),
			"u: sum | a: ho | u: three | a: hm",
		},
		"a branch inside the preserved lines": {
			append(turn[:4:4], boundary("b", "d", "s"), summary, prompt(60, "n", "b", "three"), answer(61, "o", "n", "m3", words("hm"))),
			"u: sum | a: hi | u: three | a: hm",
		},
		"a branch of a line that is not preserved": {
			append(turn[:4:4], boundary("d", "d", "s"), summary, prompt(60, "n", "b", "three"), answer(61, "o", "n", "m3", words("hm"))),
			"u: one | a: hi | u: three | a: hm",
		},
		"a bridged gap":          {[]string{turn[0], turn[1], prompt(4000, "c", "gone", "two"), answer(4001, "d", "c", "m2", words("ho"))}, "u: one | a: hi | u: two | a: ho"},
		"a gap too wide":         {[]string{turn[0], turn[1], prompt(5002, "c", "gone", "two"), answer(5003, "d", "c", "m2", words("ho"))}, "u: two | a: ho"},
		"a cycle":                {[]string{prompt(0, "a", "b", "one"), answer(1, "b", "a", "m", words("hi"))}, "u: one | a: hi"},
		"an unknown kind":        {[]string{turn[0], say(1, "new-kind", "x", "a", `"x":1`), answer(2, "b", "x", "m", words("hi"))}, "u: one | a: hi"},
		"a note of a hook":       {[]string{turn[0], say(1, "attachment", "x", "a", `"attachment":{"type":"hook_additional_context","hookName":"H","content":["ctx"]}`), answer(2, "b", "x", "m", words("hi"))}, "u: one | s: H hook additional context: ctx | a: hi"},
		"an error of the API":    {[]string{turn[0], say(1, "assistant", "b", "a", `"isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","role":"assistant","content":[`+words("bad")+`]}`)}, "u: one"},
		"a result without call":  {[]string{turn[0], turn[1], result(2, "c", "b", "zz"), answer(3, "d", "c", "m2", words("ho"))}, "u: one | a: hi | a: ho"},
		"nothing after a clear":  {[]string{turn[0], `{"type":"last-prompt","leafUuid":null,"explicit":true}`}, ""},
		"a local command's text": {[]string{turn[0], turn[1], say(2, "system", "c", "b", `"subtype":"local_command","content":"<local-command-stdout>x</local-command-stdout>"`), answer(3, "d", "c", "m2", words("ho"))}, "u: one | a: hi | u: <local-command-stdout>x</local-command-stdout> | a: ho"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sent(t, session(t, test.lines...), core.Leaf{}); got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestEveryLineIsKept(t *testing.T) {
	t.Parallel()
	main := strings.Join([]string{
		prompt(0, "a", "", "one"), prompt(0, "a", "", "one"), `{"type":"mode","mode":"normal"}`, `{"type":"mode","mode":"normal"}`,
		`torn {"a":`, "", "\x00\x00\xff", `{"type":"sesslog.line","id":"x"}`, `{"type":"sesslog.session","dialect":"claude","id":"y"}`,
		`{"type":"user","uuid":"lone","message":{"content":"\ud83d"}} ` + "\r", "[1]", `{"type":"nobody-knows","x":1}`, `{"type":"last`,
	}, "\n")
	dir := "some/-lab/"
	files := map[string][]byte{
		dir + sid + ".jsonl":                         []byte(main),
		dir + sid + "/subagents/agent-1.jsonl":       []byte(strings.Replace(prompt(1, "z", "", "sub"), "false", "true", 1) + "\n\n"),
		dir + sid + "/subagents/agent-1.meta.json":   []byte(`{"agentType":"x"}`),
		dir + sid + "/subagents/deep/er/agent.jsonl": nil,
		dir + sid + "/tool-results/a.txt":            bytes.Repeat([]byte("long é\n"), 100_000),
		dir + "agent-old.jsonl":                      []byte(prompt(1, "y", "", "sub") + "\n"),
		"history.jsonl":                              []byte(`{"display":"one","sessionId":"` + sid + `"}` + "\n"),
		dir + "notes.jsonl":                          []byte(prompt(1, "x", "", "copied") + "\n"),
		dir + "memory/other.md":                      []byte("not of the session"),
	}
	all := packAll(t, files)
	if len(all) != 1 {
		t.Fatalf("%d sessions", len(all))
	}
	f := stored(t, all[0])
	ids := map[string]bool{}
	for _, e := range f.Entries {
		if e.ID == "" || ids[e.ID] {
			t.Errorf("id %q is missing or there twice: %.80s", e.ID, e.Line)
		}
		ids[e.ID] = true
	}
	got, err := Dialect{}.Unpack(f.Header, f.Entries, "/other place")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got {
		p := dir + strings.TrimPrefix(g.Path, "projects/-other-place/")
		if want, ok := files[p]; !ok || !bytes.Equal(g.Data, want) {
			t.Errorf("%s differs, or is new", g.Path)
		}
		delete(files, p)
	}
	if len(files) != 3 {
		t.Errorf("%d files are missing", len(files)-3)
	}
	bare := core.Lines(Dialect{}.Layout(f.Header, f.Entries))
	if string(bare) != main+"\n" {
		t.Errorf("the main file is\n%q, want\n%q", bare, main)
	}
}

func TestUnpackRefusesPathsOutside(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"files/../../x", "beside/" + sid + ".jsonl", "beside/a/b", "other", "/etc/passwd", "files/..", `files/a\b`} {
		line := `{"type":"sesslog.file","id":"f","path":"` + strings.ReplaceAll(path, `\`, `\\`) + `","text":"x"}`
		f := session(t, prompt(0, "a", "", "one"))
		files, err := Dialect{}.Unpack(f.Header, append(f.Entries, core.Entry{Line: []byte(line), ID: "f", Aside: true}), "")
		if err == nil {
			t.Errorf("%s is written as %s", path, files[len(files)-1].Path)
		}
	}
}

func TestSummaryCountsAnswersOnce(t *testing.T) {
	t.Parallel()
	files := []bundle.File{
		{Path: sid + ".jsonl", Data: dialecttest.Text(
			prompt(0, "a", "", "one"), answer(1, "b", "a", "m1", words("hi")), answer(2, "c", "b", "m1", call("t")), result(3, "r", "c", "t"),
			answer(4, "d", "r", "m2", words("done")), `{"type":"ai-title","aiTitle":"Guess"}`, `{"type":"custom-title","customTitle":"Name"}`,
		)},
		{Path: sid + "/subagents/agent-1.jsonl", Data: dialecttest.Text(strings.Replace(answer(5, "s", "", "m3", words("sub")), "false", "true", 1))},
	}
	f, err := Dialect{}.Pack(sid+".jsonl", files)
	if err != nil {
		t.Fatal(err)
	}
	s := Dialect{}.Summary(f.Header, f.Entries)
	if s.Usage != (item.Usage{Input: 9, Output: 15}) || s.Messages != 3 || s.Name != "Name" || s.First != "one" || s.Modified != at(4) {
		t.Errorf("summary %+v", s)
	}
	named, err := Dialect{}.Fill(Dialect{}.NewName("later"), core.Fields{ID: "n", Time: at(9)})
	if err != nil {
		t.Fatal(err)
	}
	f.Entries = append(f.Entries, named)
	if s := (Dialect{}).Summary(f.Header, f.Entries); s.Modified != at(4) || s.Changed != at(9) {
		t.Errorf("modified %s and changed %s, want %s and %s", s.Modified, s.Changed, at(4), at(9))
	}
	dialecttest.Grows(t, Dialect{}, f.Header, f.Entries)
}

func TestBareFileIsRead(t *testing.T) {
	t.Parallel()
	data := dialecttest.Text(`{"type":"queue-operation","operation":"enqueue","sessionId":"`+sid+`"}`, prompt(0, "a", "", "one"))
	f, err := Dialect{}.File(data)
	if err != nil || !(Dialect{}).Detect(data) || f.Header.ID != sid || f.Header.CWD != "/lab" || len(f.Entries) != 2 {
		t.Errorf("file %+v, error %v", f, err)
	}
	for _, other := range []string{`{"type":"session","version":3,"id":"s"}`, `{}`, "", "x", `{"type":"title","v":1}`, `{"id":1}`} {
		if (Dialect{}).Detect([]byte(other + "\n")) {
			t.Errorf("%s is taken for a session", other)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	f := core.Fields{ID: "new", Parent: core.LeafAt("a"), Time: at(9)}
	e, err := Dialect{}.Fill([]byte(`{"type":"user","message":{"role":"user","content":"x"}}`), f)
	if err != nil || e.ID != "new" || e.Parent != "a" || e.Time != at(9) || e.Aside {
		t.Errorf("entry %+v, error %v", e, err)
	}
	e, err = Dialect{}.Fill([]byte(`{"type":"mode","mode":"plan"}`), f)
	if err != nil || e.ID != "new" || e.Type != "mode" || !e.Aside {
		t.Errorf("entry %+v, error %v", e, err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add(dialecttest.Text(prompt(0, "a", "", "one"), answer(1, "b", "a", "m1", words("hi")), leafLine("b")))
	f.Add([]byte(`{"type":"sesslog.session","dialect":"claude","id":"` + sid + `","timestamp":"","cwd":""}` + "\n" + `{"type":"sesslog.file","id":"f","path":"files/x","text":"x"}`))
	f.Add(dialecttest.Text(say(50, "system", "k", "", `"subtype":"compact_boundary","compactMetadata":{"preservedMessages":{"anchorUuid":"k","uuids":["k"]}}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Dialect{}.File(data)
		if err != nil {
			return
		}
		d := Dialect{}
		leaf := d.Leaf(file.Entries)
		if _, err := d.Context(file.Entries, leaf); err != nil {
			t.Errorf("context: %v", err)
		}
		if _, err := d.Path(file.Entries, leaf); err != nil {
			t.Errorf("path: %v", err)
		}
		_, _ = d.Info(file.Header, file.Entries, leaf)
		_ = d.Summary(file.Header, file.Entries)
		_ = d.Tree(file.Entries)
		for _, e := range file.Entries {
			_ = d.Read(e)
		}
		files, err := d.Unpack(file.Header, file.Entries, "")
		for _, g := range files {
			if bundle.CheckPath(g.Path) != nil {
				t.Errorf("path %q", g.Path)
			}
		}
		if err != nil || len(data) > 0 && data[0] == '{' && bytes.HasPrefix(data, []byte(`{"type":"sesslog.`)) {
			return
		}
		if !bytes.Equal(files[0].Data, data) {
			t.Errorf("the file is %q, want %q", files[0].Data, data)
		}
		checkExamine(t, data)
	})
}

// checkExamine checks that an examination counts each message once, and that lines
// added by a repair are lines.
func checkExamine(t *testing.T, data []byte) {
	t.Helper()
	for _, join := range []bool{false, true} {
		x := examine(t, data, join)
		if x.Lost() < 0 {
			t.Errorf("%d of %d messages are lost: %+v", x.Lost(), x.Messages, x)
		}
		for line := range bytes.Lines(x.Append) {
			if len(line) > 1 && !readLine(bytes.TrimSuffix(line, []byte("\n"))).ok {
				t.Errorf("the repair adds %q", line)
			}
		}
		examine(t, append(bytes.Clone(data), x.Append...), join)
	}
}

// A client that appends without the lines before puts the first line into an envelope.
func TestLineWithUnknownParentIsWhatTheAgentWrote(t *testing.T) {
	t.Parallel()
	const line = `{"type":"user","uuid":"u1","parentUuid":"gone","message":{"role":"user","content":"hi"}}`
	var w envelope.Writer
	es := w.Line(envelope.Piece{ID: "u1", Path: mainPath, Kind: "user", Bytes: []byte(line)})
	if got := (Dialect{}).AsWritten(es[0].Line); string(got) != line {
		t.Errorf("the agent would write %s", got)
	}
	for _, p := range []envelope.Piece{{Path: mainPath}, {ID: "u2", Path: mainPath}, {ID: "u1", Path: "files/a.jsonl"}} {
		p.Bytes = []byte(line)
		e := w.Line(p)[0]
		if got := (Dialect{}).AsWritten(e.Line); string(got) != string(e.Line) {
			t.Errorf("%s is taken for a line of the conversation", e.Line)
		}
	}
}

// An envelope is no line of the agent, even if a client gives it a place in the tree.
func TestContextSkipsEnvelopesInTree(t *testing.T) {
	t.Parallel()
	var w envelope.Writer
	in := w.Line(envelope.Piece{ID: "x", InTree: true, Parent: "u1", Path: mainPath, Kind: "user", Bytes: []byte("{}")})[0]
	e, err := Dialect{}.Entry([]byte(strings.TrimSuffix(string(in.Line), "}") + `,"message":{"role":"user","content":"unsaid"}}`))
	if err != nil || e.Aside {
		t.Fatalf("%+v, %v", e, err)
	}
	es := session(t, prompt(0, "u1", "", "one"), prompt(10, "u2", "x", "two")).Entries
	raw, err := Dialect{}.Context(append(es, e), core.LeafAt("u2"))
	if err != nil || strings.Contains(string(raw), "unsaid") || !strings.Contains(string(raw), "two") {
		t.Errorf("%s, %v", raw, err)
	}
}
