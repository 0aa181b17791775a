package follow

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/scenario"
	"github.com/sesslog/sesslog/session"
)

// TestDecisions runs testdata/decisions: the pure functions that decide what to do.
func TestDecisions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/decisions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			scenario.Run(t, file, decide)
		})
	}
}

func decide(t *testing.T, c scenario.Command) string {
	t.Helper()
	args := arguments{}
	for _, a := range c.Args {
		name, value, _ := strings.Cut(a, "=")
		args[name] = value
	}
	switch c.Name {
	case "next":
		return decideNext(t, args)
	case "head":
		return decideHead(args, c.Input)
	case "claim":
		return decideHolder(args)
	case "compare":
		return decideMerge(t, args, c.Input)
	}
	t.Fatalf("unknown command %s", c.Name)
	return ""
}

// arguments are written as name=value, or name for a flag.
type arguments map[string]string

func (a arguments) has(name string) bool { _, ok := a[name]; return ok }

func (a arguments) number(t *testing.T, name string) int64 {
	t.Helper()
	if !a.has(name) {
		return 0
	}
	n, err := strconv.ParseInt(a[name], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (a arguments) duration(t *testing.T, name string) time.Duration {
	t.Helper()
	if !a.has(name) {
		return 0
	}
	d, err := time.ParseDuration(a[name])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// decideNext: a file of which offset bytes are in the log has size bytes now.
func decideNext(t *testing.T, a arguments) string {
	now := time.Now().UnixNano()
	s := stat{ino: 1, size: a.number(t, "size"), seen: now, mtime: now - int64(a.duration(t, "unchanged"))}
	p := place{Session: "s", Offset: a.number(t, "offset"), Cursor: core.Cursor{Seq: 1}}
	p.record(stat{ino: 1, size: p.Offset, mtime: s.mtime, seen: now})
	if a.has("new") {
		p = place{}
	}
	if a.has("diverged") {
		p.Cursor = core.Cursor{}
	}
	do, verify := next(p, observation{
		stat: s, document: a.has("document"), final: a.has("final"), force: a.has("force"),
		unacked: a.has("unacked"), unverified: a.has("unverified"), verified: a.duration(t, "verified"),
	})
	out := [...]string{skip: "skip", grow: "grow", compare: "compare"}[do]
	if verify && do == grow {
		out += ", and read everything"
	}
	return out + "\n"
}

func leafOf(a arguments, name string) core.Leaf {
	if !a.has(name) {
		return core.Leaf{}
	}
	return core.LeafAt(a[name])
}

// decideHead: the input lists the heads, as "NAME LEAF".
func decideHead(a arguments, input []string) string {
	var heads []api.HeadInfo
	for _, line := range input {
		name, leaf, _ := strings.Cut(line, " ")
		heads = append(heads, api.HeadInfo{Head: name, Leaf: core.LeafAt(leaf)})
	}
	c := chooseHead(heads, a["own"], leafOf(a, "base"), leafOf(a, "want"), a.has("sole"))
	switch {
	case c.head != "":
		return "append to " + c.head + "\n"
	case c.follow:
		return "move " + a["own"] + " to " + a["want"] + "\n"
	}
	return "compare again after the next change\n"
}

func decideHolder(a arguments) string {
	h := api.HeadInfo{}
	if a.has("holder") {
		h.Claim = &core.Claim{Writer: a["holder"], Host: a["on"]}
		h.Life = &session.Life{State: session.LifeAlive}
		if a.has("silent") {
			h.Life.State = session.LifeSilent
		}
	}
	action := decideClaim(h, a["own"], a["remembered"], "here")
	return [...]string{claimFree: "claim", claimOver: "take over", claimShare: "share", claimLeave: "leave"}[action] + "\n"
}

// decideMerge: the input has three lines, "had", "log" and "file", each with
// entries written as ID=TEXT or ID<PARENT=TEXT; without a parent, an entry follows
// the one before. A line "had" that is missing means that nothing is known.
func decideMerge(t *testing.T, a arguments, input []string) string {
	d, err := dialect.Named("pi")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string][]string{}
	for _, line := range input {
		name, rest, _ := strings.Cut(line, " ")
		lines[name] = append(lines[name], piLines(strings.Fields(rest))...)
	}
	var had lineSet
	if _, ok := lines["had"]; ok {
		had = lineSet{}
		for _, line := range lines["had"] {
			had[hash([]byte(line))] = struct{}{}
		}
	}
	file, err := d.File([]byte(piHeader + "\n" + strings.Join(lines["file"], "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var logged []core.Entry
	for _, line := range lines["log"] {
		e, err := d.Entry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		logged = append(logged, e)
	}
	c := compareFile(d, had, logged, file)
	unchanged := time.Hour
	if a.has("unchanged") {
		unchanged = a.duration(t, "unchanged")
	}
	return mergeText(&c, planMerge(d, &c, file, len(logged), leafOf(a, "head"), unchanged))
}

func mergeText(c *comparison, p plan) string {
	if p.wait {
		return "wait\n"
	}
	var b strings.Builder
	for _, part := range []struct {
		name string
		es   []core.Entry
	}{{"new", c.fresh}, {"amend", c.amends}, {"removed", c.removed}} {
		if len(part.es) > 0 {
			fmt.Fprintf(&b, "%s %s\n", part.name, entryNames(part.es))
		}
	}
	for _, cf := range c.conflicts {
		fmt.Fprintf(&b, "conflict in line %d: %s\n", cf.line, cf.why)
	}
	if p.moveHead {
		id, _ := p.leaf.ID()
		fmt.Fprintf(&b, "move the head to %s\n", cmp.Or(id, "the start"))
	}
	switch p.add {
	case addImport:
		b.WriteString("import the file\n")
	case addAll:
		b.WriteString("append all lines at the start of a head\n")
	}
	if c.sole {
		b.WriteString("no other writer\n")
	}
	return b.String()
}

const piHeader = `{"type":"session","version":3,"id":"0199aaaa-0000-7000-8000-000000000001","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}`

func piLines(words []string) (lines []string) {
	last := "null"
	for _, w := range words {
		id, text, _ := strings.Cut(w, "=")
		id, parent, ok := strings.Cut(id, "<")
		if ok {
			last = strconv.Quote(parent)
		}
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":%q,"timestamp":1}}`, id, last, text))
		last = strconv.Quote(id)
	}
	return lines
}
