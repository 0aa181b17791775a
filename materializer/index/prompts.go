package index

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/materializer"
)

// maxPrompt limits the bytes that are kept of a prompt.
const maxPrompt = 64 << 10

// A prompt is a message of a user. Prompts are kept longer than other texts, for
// all of a session, and only of sessions that are neither erased nor in the trash.
type prompt struct {
	place   int // of the entry in its session
	part    int // of the prompt in its entry
	entry   string
	created int64 // in milliseconds, 0 if the entry does not say
	text    string
	cut     bool // text is the beginning of a longer one
}

// promptsOf returns the prompts in an entry, which has these items.
func promptsOf(e core.Entry, items []item.Item, place int) []prompt {
	var ps []prompt
	for part := range items {
		it := &items[part]
		if it.Kind != item.Message || it.Role != item.RoleUser {
			continue
		}
		p := prompt{place: place, part: part, entry: clipID(e.ID)}
		if p.text, p.cut = promptText(it.Blocks); p.text == "" {
			continue
		}
		if ms, ok := millis(it.Time); ok {
			p.created = ms
		} else if ms, ok := millis(e.Time); ok {
			p.created = ms
		}
		ps = append(ps, p)
	}
	return ps
}

// promptText returns the text of a message, without images, and whether it was cut.
func promptText(blocks []item.Block) (text string, cut bool) {
	var b strings.Builder
	for i := range blocks {
		if blocks[i].Kind != item.BlockText || blocks[i].Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(blocks[i].Text)
		if b.Len() > maxPrompt {
			break
		}
	}
	text = clean(strings.TrimSpace(b.String()))
	if len(text) <= maxPrompt {
		return text, false
	}
	return strings.ToValidUTF8(text[:maxPrompt], ""), true
}

// setPrompts brings a session's prompts up to date. added are those of the entries
// that were not read before, or of all entries if whole.
func (w *writer) setPrompts(v *materializer.View, old *stored, added []prompt, whole bool) error {
	had, has := old.n != 0 && old.place == 0, placeOf(&v.Row) == 0
	if had && (whole || !has) {
		if err := w.removePrompts(v.Row.ID); err != nil {
			return err
		}
	}
	if !has {
		return nil
	}
	if !had && !whole { // out of the trash
		added = nil
		for i := range v.Entries {
			added = append(added, promptsOf(v.Entries[i], v.Dialect.Read(v.Entries[i]), i)...)
		}
	}
	return w.addPrompts(v, added, had && !whole)
}

// addPrompts adds prompts to those of a session. A prompt that repeats the one
// before it is left out, and one without a time gets the time of the one before it.
func (w *writer) addPrompts(v *materializer.View, added []prompt, continued bool) error {
	if len(added) == 0 {
		return nil
	}
	var last prompt
	last.created, _ = millis(v.Row.Created)
	if continued {
		err := w.stmts["lastPrompt"].QueryRowContext(w.ctx, string(v.Row.ID)).Scan(&last.created, &last.text)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	for _, p := range added {
		if p.text == last.text {
			continue
		}
		if p.created == 0 {
			p.created = last.created
		}
		if err := w.addPrompt(v, &p); err != nil {
			return err
		}
		last = p
	}
	return nil
}

func (w *writer) addPrompt(v *materializer.View, p *prompt) error {
	res, err := w.stmts["prompt"].ExecContext(w.ctx, string(v.Row.ID), p.place, p.part, p.entry,
		clean(v.Row.Dialect), clean(v.Host), clean(v.Row.CWD), p.created, p.text, p.cut)
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	return w.exec("promptWords", id, spaced(p.text))
}

// removePrompts deletes all prompts of a session.
func (w *writer) removePrompts(id core.SessionID) error {
	rows, err := w.stmts["prompts"].QueryContext(w.ctx, string(id))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		var text string
		if err := rows.Scan(&n, &text); err != nil {
			return err
		}
		w.scrub = true
		if err := w.exec("unpromptWords", n, spaced(text)); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return w.exec("unprompt", string(id))
}
