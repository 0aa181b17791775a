package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/journal"
	"github.com/sesslog/sesslog/session"
)

const journalUsage = "keep what no node can take now in the journal in `DIR` (SESS_JOURNAL)"

func journalCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "See and send what waits in a journal",
		Long: `A journal is a directory where sessctl append --journal keeps what no node could
take. What waits there goes to the log before the next append with that journal,
or with: sessctl journal send`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usagef("what about it: ls, or send") },
	}
	var dir string
	ls := &cobra.Command{
		Use:   "ls",
		Short: "List what waits in a journal",
		Long: `Lists the sessions for which something waits, and those whose file is damaged.
It asks no node: why something cannot land, sessctl journal send says.

With -o json: an array of objects with session, entries, lines, bytes, since and
error.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withJournal(cmd.Context(), dir, func(j *journal.Journal) error { return a.journalList(j) })
		},
	}
	send := &cobra.Command{
		Use:   "send",
		Short: "Send what waits in a journal to the log",
		Long: `Sends what waits, in order and once. Where somebody else went on with a head
meanwhile, it goes to a head of its own, offline-..., forked from where it was
written. What cannot land stays in the journal, and is named. It also asks the
log about what was stored and no snapshot covers yet, and appends again what the
log has lost.

With -o json: an array of objects with session, entries, lines, again and heads.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withJournal(cmd.Context(), dir, func(j *journal.Journal) error { return a.journalSend(cmd, j) })
		},
	}
	cmd.PersistentFlags().StringVar(&dir, "journal", "", "the journal's `DIR` (SESS_JOURNAL)")
	cmd.AddCommand(ls, send)
	return cmd
}

// withJournal opens the journal that dir or the environment names, for f.
func (a *app) withJournal(ctx context.Context, dir string, f func(*journal.Journal) error) error {
	dir = cmp.Or(dir, a.env("SESS_JOURNAL"))
	if dir == "" {
		return usagef("which journal? name its directory with --journal or SESS_JOURNAL")
	}
	ctx, cancel := context.WithTimeout(ctx, short)
	defer cancel()
	j, err := journal.Open(ctx, dir, journal.Options{})
	if err != nil {
		return err
	}
	return errors.Join(f(j), j.Close())
}

type journalRow struct {
	Session core.SessionID `json:"session"`
	Entries int            `json:"entries"`
	Lines   int            `json:"lines"`
	Bytes   int64          `json:"bytes"`
	Since   time.Time      `json:"since,omitzero"`
	Error   string         `json:"error,omitempty"`
}

func (r journalRow) String() string {
	text := fmt.Sprintf("%s  %s in %s, since %s", r.Session, count(r.Lines, "line", "lines"), count(r.Entries, "step", "steps"), r.Since.Format(time.RFC3339))
	switch {
	case r.Error == "":
		return text
	case r.Entries == 0: // it cannot be read
		return fmt.Sprintf("%s  %s", r.Session, r.Error)
	}
	return text + ": " + r.Error
}

func (a *app) journalList(j *journal.Journal) error {
	rows := []journalRow{}
	for _, w := range j.Sessions() {
		if w.Entries == 0 && w.Err == nil {
			continue
		}
		r := journalRow{w.Session, w.Entries, w.Lines, w.Bytes, w.Since, ""}
		if w.Err != nil {
			r.Error = w.Err.Error()
		}
		rows = append(rows, r)
	}
	return a.print(rows, func() error {
		if len(rows) == 0 {
			return a.printf("nothing waits")
		}
		for _, r := range rows {
			if err := a.printf("%s", plain(r.String())); err != nil {
				return err
			}
		}
		return nil
	})
}

type journalSent struct {
	Session core.SessionID    `json:"session"`
	Entries int               `json:"entries"`
	Lines   int               `json:"lines"`
	Again   int               `json:"again"`
	Heads   map[string]string `json:"heads,omitempty"`
}

func (a *app) journalSend(cmd *cobra.Command, j *journal.Journal) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	ctx, cancel := a.within(cmd, forever)
	defer cancel()
	l := journaled(node, j)
	sents := []journalSent{}
	var failed error
	for _, w := range j.Sessions() {
		sent, err := l.Check(ctx, w.Session)
		if sent.Entries > 0 {
			sents = append(sents, journalSent(sent))
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("session %s: %w", w.Session, err))
		}
	}
	err = a.print(sents, func() error {
		if len(sents) == 0 && failed == nil {
			return a.printf("nothing waits")
		}
		for _, s := range sents {
			if err := a.printf("%s", sentText(s)); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, failed)
}

func sentText(s journalSent) string {
	text := fmt.Sprintf("%s  %s sent", s.Session, count(s.Lines, "line", "lines"))
	for head, own := range s.Heads {
		text += fmt.Sprintf("; others went on with head %s, so it is on head %s", head, own)
	}
	if s.Again > 0 {
		text += fmt.Sprintf("; the log had lost %s", count(s.Again, "append", "appends"))
	}
	return text
}

func journaled(node *api.Client, j *journal.Journal) *journal.Log {
	return journal.New(node.Log(), j, journal.Config{Logger: slog.New(slog.DiscardHandler)})
}

// appendedOrKept is an append that went through a journal.
type appendedOrKept struct {
	Stored int         `json:"stored"`
	Kept   int         `json:"kept"`
	Cursor core.Cursor `json:"seq"`
}

// appendKept appends through a journal: what waits there goes first, and what no
// node takes is kept. Whoever has the journal keeps others out of it, so it is
// opened when a node was asked and all lines have come.
func (a *app) appendKept(cmd *cobra.Command, arg string, f appendFlags) error {
	node, id, asked := a.appendTo(cmd, arg)
	if asked != nil && !unanswered(asked) {
		return asked
	}
	var data []byte
	if f.kind == "" {
		var err error
		if data, err = a.given(cmd, node, id, f); err != nil {
			return err
		}
		if len(linesOf(data)) == 0 {
			return nothingGiven(arg)
		}
	}
	var rec session.Receipt
	err := a.withJournal(cmd.Context(), f.journal, func(j *journal.Journal) (err error) {
		if asked != nil {
			if id, err = metAs(j, arg, asked); err != nil {
				return err
			}
		}
		if f.kind != "" {
			if data, err = a.givenOffline(cmd, node, id, f, j); err != nil {
				return err
			}
		}
		rec, err = a.appendThrough(cmd, node, id, data, f, j, asked != nil)
		return err
	})
	if err != nil {
		if f.kind == "" && rec == (session.Receipt{}) {
			err = a.giveBack(err, data, f.unsent)
		}
		return err
	}
	return a.print(appendedOrKept{rec.Stored, rec.Kept, rec.Cursor}, func() error {
		if rec.Kept > 0 {
			a.notef("%s kept in the journal, not yet in the log; send with: sessctl journal send --journal %s", count(rec.Kept, "line", "lines"), shellWord(f.journal))
			return nil
		}
		return a.printf("%s stored, at %s", count(rec.Stored, "line", "lines"), rec.Cursor)
	})
}

// appendThrough appends through j. Where the node was asked in vain already, it
// is not waited for another time.
func (a *app) appendThrough(cmd *cobra.Command, node *api.Client, id core.SessionID, data []byte, f appendFlags, j *journal.Journal, away bool) (session.Receipt, error) {
	ctx, cancel := a.within(cmd, short)
	defer cancel()
	l := journaled(node, j)
	if !away {
		answers, err := a.sendFirst(ctx, l, j, id)
		if err != nil {
			return session.Receipt{}, err
		}
		away = !answers
	}
	if away {
		cancel()
	}
	v, err := a.voice(ctx, node, id, f.writerFlags)
	if err != nil {
		return session.Receipt{}, err
	}
	after, _ := core.ParseCursor(f.after) // it was checked
	rec, err := l.Append(ctx, id, session.Writing{Head: f.head, Writer: v.writer, After: after}, linesOf(data))
	return rec, a.heard(v, err)
}

// shellWord is s as a shell takes it for one word.
func shellWord(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellWords is a command as a shell takes it.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = shellWord(arg)
	}
	return strings.Join(words, " ")
}

// sendFirst sends what waits, and reports whether the node answers. What cannot
// land is an error for session id, behind which more would wait for nothing; for
// others it is not.
func (a *app) sendFirst(ctx context.Context, l *journal.Log, j *journal.Journal, id core.SessionID) (answers bool, err error) {
	for _, w := range j.Sessions() {
		if w.Entries == 0 {
			continue
		}
		sent, err := l.Send(ctx, w.Session)
		if sent.Entries > 0 {
			a.notef("%s", sentText(journalSent(sent)))
		}
		switch {
		case err == nil:
		case unanswered(err):
			return false, nil
		case w.Session == id:
			return true, fmt.Errorf("%s wait in the journal that cannot land, and nothing is kept behind them: %w", count(w.Lines, "line", "lines"), err)
		default:
			a.notef("what waits for session %s cannot land: %v", w.Session, err)
		}
	}
	return true, nil
}

// metAs is the session that arg names while no node answers: one that the
// journal has met, so that a slip does not make lines wait for nobody.
func metAs(j *journal.Journal, arg string, cause error) (core.SessionID, error) {
	var found []core.SessionID
	for _, w := range j.Sessions() {
		if string(w.Session) == arg {
			return w.Session, nil
		}
		if strings.HasPrefix(string(w.Session), arg) {
			found = append(found, w.Session)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return "", hintf(fmt.Errorf("the journal has not met session %s, and %w", arg, cause), "append to it with this journal once while a node answers")
}

// givenOffline is what is to be appended, also while no node says whose session
// it is.
func (a *app) givenOffline(cmd *cobra.Command, node *api.Client, id core.SessionID, f appendFlags, j *journal.Journal) ([]byte, error) {
	name := j.Dialect(id)
	if f.kind == "" || name == "" {
		return a.given(cmd, node, id, f)
	}
	d, err := dialect.Named(name)
	if err != nil {
		return nil, err
	}
	it, err := f.item()
	if err != nil {
		return nil, err
	}
	return written(d, id, it)
}
