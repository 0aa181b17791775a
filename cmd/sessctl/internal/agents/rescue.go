package agents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/opencode"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/internal/atomicfile"
)

func rescueCmd(a app) *cobra.Command {
	var f rescueFlags
	cmd := &cobra.Command{
		Use:   "rescue [TEXT]",
		Short: "Show and repair what a resume would lose",
		Long: `Reads the session files of all agents on this host, or those in and below --dir,
and shows how many messages of each session its agent would send to the model if
it resumed it now, and why not all. It needs no node. With TEXT it reads only
files whose path contains it, such as an id.

A message is not sent if it was before a compaction or is on a branch that the user
left by rewinding; these are counted separately. The others are lost to the agent,
although they are in the file:

- A parent is missing, or a line is its own ancestor.
- The agent would continue before the last message.
- One line holds several, a line is incomplete, or two messages have one id.
- The file that a fork continues is missing.
- An answer of opencode ended in an error, or its message is missing.
- The agent refuses the file, or splits a line at a Unicode line separator.

rescue also names files that are too large for the agent, and those that Claude
Code will delete soon.

--repair adds lines to the files, after which the agent reaches these messages. It
never changes existing lines, and skips files that changed in the last two
seconds. If adding lines does not suffice, --to DIR writes a repaired copy there,
below the same path. It does not replace existing files.

A branch of several prompts that ended before the session continued elsewhere may
be what the agent lost, or what the user left. --join adds it to the history.

opencode keeps sessions in a database, which rescue never changes. It names
sessions whose event log has gaps, so that another host does not take them, whose
last answer has no end, or whose directory is gone. --to DIR writes DIR/ID/export.json;
opencode import takes it, and moves the session to the directory where it runs.
--join includes what is reverted, which the next prompt would delete.

With -o json: a list with an object for each session: agent, path, messages, sent,
summarized, branches, lost, after (sent after the repair), repaired (the path that
was written), error, and faults, a list with kind, line, text and repair (append,
copy, or join).`,
		Example: `sessctl rescue
sessctl rescue --repair 7f3c
sessctl rescue --dir ./backup/projects -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			f.text = strings.Join(args, "")
			return a.rescue(ctx, f)
		}),
	}
	cmd.Flags().StringVar(&f.dir, "dir", "", "read the files in and below `DIR`")
	cmd.Flags().StringVar(&f.to, "to", "", "write repaired copies to `DIR`")
	cmd.Flags().BoolVar(&f.repair, "repair", false, "add lines to the files, so that the agents reach what they lost")
	cmd.Flags().BoolVar(&f.join, "join", false, "count branches that ended before the session continued as lost")
	cmd.Flags().BoolVar(&f.all, "all", false, "show also sessions without faults")
	return cmd
}

type rescueFlags struct {
	dir, to, text     string
	repair, join, all bool
}

// An examinedSession is a session and what rescue found in it.
type examinedSession struct {
	Agent string `json:"agent"`
	Path  string `json:"path"`
	optional.Examination
	Lost     int    `json:"lost"`
	After    *int   `json:"after,omitempty"`
	Repaired string `json:"repaired,omitempty"`
	Error    string `json:"error,omitempty"`

	rel  string // of Path, below the root
	size int64
}

func (a app) rescue(ctx context.Context, f rescueFlags) error {
	roots := []follow.Root{{Path: f.dir}}
	for _, path := range databasesBelow(f.dir) {
		roots = append(roots, follow.Root{Path: path, Dialect: opencode.Dialect{}.Name()})
	}
	if f.dir == "" {
		cwd, err := agent.Getwd()
		if err != nil {
			return err
		}
		roots = agent.Roots(a.Env, cwd)
	} else if _, err := os.Stat(f.dir); err != nil {
		return cli.FileError(f.dir, err)
	}
	var all []*examinedSession
	for _, root := range roots {
		examine := a.examineBelow
		if root.Dialect == (opencode.Dialect{}.Name()) {
			examine = a.examineDatabase
		}
		found, err := examine(ctx, root, f)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	var failed error
	for _, p := range all {
		if err := a.repair(p, f); err != nil {
			p.Error, failed = err.Error(), err
		}
	}
	err := a.Print(cli.NotNil(all), func() error { return a.printExamined(all, f) })
	return cmp.Or(err, failed)
}

// examineBelow examines the sessions in and below a directory.
func (a app) examineBelow(ctx context.Context, root follow.Root, f rescueFlags) (all []*examinedSession, err error) {
	taken := map[string]bool{}
	add := func(rules core.Dialect, main string, files map[string][]byte) {
		p := examined(rules, main, files, f.join)
		p.Path = filepath.Join(root.Path, filepath.FromSlash(p.rel))
		p.size = int64(len(files[p.rel]))
		a.addExpiry(p)
		all = append(all, p)
	}
	for _, b := range cli.BundlesBelow(root.Path) {
		for _, name := range b.Names() {
			taken[name] = true
		}
		_, ok := b.Rules.(optional.Examiner)
		if !ok || b.Main == "" || root.Dialect != "" && root.Dialect != b.Rules.Name() || !strings.Contains(b.Main, f.text) {
			continue
		}
		read, err := a.Read(&b, secrets.Policy{})
		if err != nil {
			a.Notef("%v", err)
			continue
		}
		files := map[string][]byte{}
		for _, file := range read {
			files[file.Path] = file.Data
		}
		add(b.Rules, b.Main, files)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	cli.WalkSessions(root.Path, func(path string, _ fs.DirEntry, err error) {
		rel, _ := filepath.Rel(root.Path, path)
		if taken[path] || ctx.Err() != nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(rel, f.text) {
			return
		}
		src, err := a.Find(ctx, path)
		switch {
		case err == nil:
			rel = filepath.ToSlash(rel)
			add(src.File.Rules, rel, map[string][]byte{rel: src.File.Data})
		case errors.Is(err, core.ErrInvalid) && hasMessages(path): // its header is damaged
			p := &examinedSession{Agent: root.Dialect, Path: path, Error: strings.TrimPrefix(core.Reason(err), path+": ")}
			p.Faults = cli.NotNil(p.Faults)
			all = append(all, p)
		case !errors.Is(err, core.ErrInvalid):
			a.Notef("%v", err)
		}
	})
	return all, ctx.Err()
}

// messageMarks are in every line with a message, as one of the agents writes it.
var messageMarks = [][]byte{[]byte(`"message":{`), []byte(`"record_type": "chunk"`), []byte(`"type":"response_item"`)}

// hasMessages reports whether the file at path has messages near its beginning.
func hasMessages(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, 1<<20))
	return err == nil && slices.ContainsFunc(messageMarks, func(part []byte) bool { return bytes.Contains(b, part) })
}

// examined examines the files of a session.
func examined(rules core.Dialect, main string, files map[string][]byte, join bool) *examinedSession {
	x, err := optional.Examine(rules, main, files, join)
	p := &examinedSession{Agent: rules.Name(), rel: cmp.Or(x.File, main), Examination: x, Lost: x.Lost()}
	if err != nil {
		p.Error = err.Error()
	}
	after := repaired(files, &x)
	if after[main] == nil {
		main = x.File
	}
	if y, err := optional.Examine(rules, main, after, false); err == nil && len(x.Append)+len(x.Copy) > 0 {
		p.After = &y.Sent
	}
	p.Faults = cli.NotNil(p.Faults)
	return p
}

// repaired returns files with the repair of x. A copy in another form stands alone.
func repaired(files map[string][]byte, x *optional.Examination) map[string][]byte {
	if files[x.File] == nil && x.Copy != nil {
		return map[string][]byte{x.File: x.Copy}
	}
	out := maps.Clone(files)
	out[x.File] = append(bytes.Clone(files[x.File]), x.Append...)
	if x.Copy != nil {
		out[x.File] = x.Copy
	}
	return out
}

// Claude Code deletes sessions that were not used for so many days, by default.
// They are named a week before.
const (
	claudeDays = 30
	warnDays   = 7
)

func (a app) addExpiry(p *examinedSession) {
	info, err := os.Stat(p.Path)
	if err != nil || p.Agent != "claude" {
		return
	}
	if left := claudeDays - int(a.Now().Sub(info.ModTime()).Hours()/24); left <= warnDays {
		p.Faults = append(p.Faults, optional.Fault{
			Kind: optional.Expires,
			Text: fmt.Sprintf("by default Claude Code deletes it in %s; keep it with: sessctl import", cli.Count(max(left, 0), "day", "days")),
		})
	}
}

// settled is how long a file must not have changed before lines are added to it.
const settled = 2 * time.Second

// repair repairs the file of p as the flags say.
func (a app) repair(p *examinedSession, f rescueFlags) error {
	if len(p.Copy) > 0 && f.to != "" {
		path := filepath.Join(f.to, filepath.FromSlash(p.rel))
		if err := atomicfile.MkdirAll(filepath.Dir(path)); err != nil {
			return err
		}
		err := atomicfile.Write(path, false, func(w io.Writer) error { // never replace a file: it may be the original
			_, err := w.Write(p.Copy)
			return err
		})
		if err != nil {
			return err
		}
		p.Repaired = path
		return nil
	}
	if !f.repair || len(p.Append) == 0 {
		return nil
	}
	file, err := os.OpenFile(p.Path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return cli.FileError(p.Path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != p.size || a.Now().Sub(info.ModTime()) < settled {
		return fmt.Errorf("%s is being written; end its agent first: %w", p.Path, core.ErrConflict)
	}
	if _, err := file.Write(p.Append); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	p.Repaired = p.Path
	// Agents list sessions by the times of their files.
	return os.Chtimes(p.Path, time.Time{}, info.ModTime())
}

const (
	rescueColumns = 100
	shownFaults   = 20 // of each session
)

func (a app) printExamined(all []*examinedSession, f rescueFlags) error {
	faulty, append, other, beyond := 0, 0, 0, 0
	for _, p := range all {
		if len(p.Faults) == 0 && p.Error == "" && !f.all {
			continue
		}
		if err := a.printOne(p); err != nil {
			return err
		}
		if len(p.Faults) > 0 || p.Error != "" {
			faulty++
		}
		if p.Repaired == "" && len(p.Append) > 0 {
			append++
		}
		if p.Repaired == "" && len(p.Copy) > 0 {
			other++
		}
		if p.beyondRepair() {
			beyond++
		}
	}
	if err := a.Printf("%s, %d without faults", cli.Count(len(all), "session", "sessions"), len(all)-faulty); err != nil {
		return err
	}
	if append > 0 {
		a.Notef("%s can be repaired with: sessctl rescue --repair", cli.Count(append, "file", "files"))
	}
	if beyond > 0 {
		a.Notef("%s cannot be repaired by rescue", cli.Count(beyond, "file", "files"))
	}
	if other > 0 {
		a.Notef("a repaired copy of %s is written with: sessctl rescue --to DIR", cli.Count(other, "file", "files"))
	}
	return nil
}

// leftOut returns how many lines of the file the repaired copy does not have.
func (p *examinedSession) leftOut() (n int) {
	for _, f := range p.Faults {
		if f.Kind == optional.BadLine && len(p.Copy) > 0 {
			n++
		}
	}
	return n
}

// beyondRepair reports whether messages are lost that no repair brings back.
func (p *examinedSession) beyondRepair() bool {
	return p.Error == "" && len(p.Append)+len(p.Copy) == 0 && slices.ContainsFunc(p.Faults, func(f optional.Fault) bool {
		return f.Kind != optional.Expires && f.Kind != optional.TooLarge && f.Kind != optional.AbandonedLines
	})
}

func (a app) printOne(p *examinedSession) error {
	home, path := a.Env("HOME"), p.Path
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		path = "~/" + rest
	}
	if p.Error != "" && p.Messages == 0 {
		return a.Printf("%s\n  %s", cli.Plain(path), cli.Wrapped(cli.Plain(p.Error), rescueColumns, 2))
	}
	state := fmt.Sprintf("%d of %s sent", p.Sent, cli.Count(p.Messages, "message", "messages"))
	lost := ""
	if p.Lost > 0 {
		lost = fmt.Sprintf("%d lost", p.Lost)
	}
	state = cli.Join(", ", state, someOf(p.Summarized, "before a compaction"), someOf(p.Branches, "on branches"), lost)
	if p.After != nil && *p.After != p.Sent {
		state += fmt.Sprintf("; after a repair %d", *p.After)
	}
	if err := a.Printf("%s\n  %s", cli.Plain(path), cli.Wrapped(p.Agent+": "+state, rescueColumns, 2)); err != nil {
		return err
	}
	for _, f := range p.Faults[:min(len(p.Faults), shownFaults)] {
		text := f.Text
		if f.Line > 0 {
			text = fmt.Sprintf("line %d: %s", f.Line, text)
		}
		if err := a.Printf("  %s", cli.Wrapped("- "+cli.Plain(text), rescueColumns, 4)); err != nil {
			return err
		}
	}
	if more := len(p.Faults) - shownFaults; more > 0 {
		if err := a.Printf("  - and %d more; to show all: -o json", more); err != nil {
			return err
		}
	}
	if p.Error != "" {
		return a.Printf("  %s", cli.Wrapped("- "+cli.Plain(p.Error), rescueColumns, 4))
	}
	if p.Repaired != "" {
		left := ""
		if n := p.leftOut(); n > 0 {
			left = fmt.Sprintf(" (without %s that the agent cannot read)", cli.Count(n, "line", "lines"))
		}
		return a.Printf("  repaired: %s%s", cli.Plain(p.Repaired), left)
	}
	return nil
}

func someOf(n int, where string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n, " ", where)
}
