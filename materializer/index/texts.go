package index

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/session/catalog"
)

// readText returns the texts that v has and the file does not, and the session's
// labels. If entries that were read before have changed or are gone, it reads all
// entries again. It updates now.
func (w *writer) readText(v *materializer.View, old, now *stored) (added []doc, labels map[string]string, err error) {
	id := v.Row.ID
	p, same := w.had(id).continued(v, old)
	p.add(v.Entries[p.texts:])
	moved := old.n != 0 && old.scope(id) != now.scope(id)
	changed := !same && old.texts > 0
	whole := old.n == 0 || moved || changed
	if changed || v.Row.Erased {
		w.erases(old)
	}
	if whole {
		now.texts, now.kept, now.labels = 0, 0, ""
	}
	if now.labels != "" {
		if err := json.Unmarshal([]byte(now.labels), &labels); err != nil {
			return nil, nil, err
		}
	}
	texts, prompts, labels, size := textsOf(v, now.texts, labels)
	now.texts, now.digest = p.texts, int64(p.digest.Sum64())
	p.seq, p.size = v.Row.Seq, v.Row.Size
	w.now[id] = p
	if err := w.setPrompts(v, old, prompts, whole); err != nil {
		return nil, nil, err
	}
	if texts, err = w.trim(id, old, now, texts, size); err != nil {
		return nil, nil, err
	}
	if name, ok := nameDoc(&v.Row); ok && (whole || nameOf(old.heading) != nameOf(now.heading)) {
		texts = append(texts, name)
	}
	switch {
	case whole:
		texts, err = w.replace(id, old, texts, moved)
	case nameOf(old.heading) != nameOf(now.heading):
		err = w.remove(id, old, namePlace, func(d *doc) (bool, bool) { return d.place == namePlace, false })
	}
	b, _ := json.Marshal(labels) // never fails for strings
	now.labels = string(b)
	return texts, labels, err
}

// textsOf returns the texts of v's entries from one on, their size in bytes, the
// prompts among them, and the labels after them.
func textsOf(v *materializer.View, from int, labels map[string]string) (texts []doc, prompts []prompt, _ map[string]string, size int64) {
	last, _ := millis(v.Row.Created) // for entries without a time
	for i := from; i < len(v.Entries); i++ {
		items := v.Dialect.Read(v.Entries[i])
		prompts = append(prompts, promptsOf(v.Entries[i], items, i)...)
		d, at := docOf(v.Entries[i], items, i, func(target, text string) { labels = relabel(labels, target, text) })
		if ms, ok := millis(at); ok {
			last = ms
		}
		if d.text == "" {
			continue
		}
		d.id = idOf(v.Row.ID, i, last)
		texts = append(texts, d)
		size += int64(len(d.text))
	}
	return texts, prompts, labels, size
}

func nameOf(heading string) string {
	name, _, _ := strings.Cut(heading, fieldSep)
	return name
}

// nameDoc returns the text of a session's name, if it has one.
func nameDoc(r *catalog.Row) (doc, bool) {
	ms, _ := millis(cmp.Or(r.Created, r.Modified))
	d := doc{id: idOf(r.ID, namePlace, ms), place: namePlace, kind: "name", text: tidy(r.Name, maxEntry)}
	return d, d.text != ""
}

// replace deletes the session's texts that are not in texts, and returns those that
// must be added. Usually few differ, and deleting costs most.
func (w *writer) replace(id core.SessionID, old *stored, texts []doc, all bool) ([]doc, error) {
	is := make(map[int]int, len(texts))
	for i := range texts {
		is[texts[i].place] = i
	}
	there := map[int]bool{}
	err := w.remove(id, old, namePlace, func(d *doc) (bool, bool) {
		i, ok := is[d.place]
		if ok && !all && texts[i].text == d.text && texts[i].entry == d.entry && texts[i].kind == d.kind {
			there[d.place] = true
			return false, true
		}
		w.scrub = true
		return true, true
	})
	return slices.DeleteFunc(texts, func(d doc) bool { return there[d.place] }), err
}

// erases notes that what the file has of a session must not stay there. Texts that were
// trimmed are in the file's full-text table until it is merged.
func (w *writer) erases(old *stored) {
	w.scrub = true
	w.merge = w.merge || old.kept > maxSession-maxEntry // less was never trimmed
}

// trim drops a session's oldest texts until the rest fits: first those in the file,
// then those of texts, which are to be added and have size bytes.
func (w *writer) trim(id core.SessionID, old, now *stored, texts []doc, size int64) ([]doc, error) {
	inFile := now.kept
	now.kept += size
	if inFile > 0 && now.kept > maxSession {
		first := len(w.docs)
		err := w.remove(id, old, 0, func(d *doc) (del, next bool) {
			if now.kept <= maxSession {
				return false, false
			}
			now.kept -= int64(len(d.text))
			return true, true
		})
		if err != nil {
			return nil, err
		}
		w.trimmed = append(w.trimmed, w.docs[first:]...)
		w.docs = w.docs[:first]
	}
	for len(texts) > 0 && now.kept > maxSession {
		now.kept -= int64(len(texts[0].text))
		texts = texts[1:]
	}
	return texts, nil
}

// all is a match function for remove.
func all(*doc) (del, next bool) { return true, true }

// remove visits the texts of a session in the file, from one place on, while match
// returns next, and deletes those for which it returns del.
func (w *writer) remove(id core.SessionID, old *stored, from int, match func(*doc) (del, next bool)) error {
	if old.n == 0 {
		return nil
	}
	rows, err := w.stmts["docs"].QueryContext(w.ctx, old.n, from)
	if err != nil {
		return err
	}
	defer rows.Close()
	scope := old.scope(id)
	for next := true; next && rows.Next(); {
		op := docOp{n: old.n, scope: scope, removed: true}
		if err := rows.Scan(&op.id, &op.place, &op.entry, &op.kind, &op.text); err != nil {
			return err
		}
		var del bool
		if del, next = match(&op.doc); del {
			w.docs = append(w.docs, op)
		}
	}
	return rows.Err()
}
