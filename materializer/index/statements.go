package index

// statements are the prepared statements of a write.
var statements = map[string]string{
	"load": `SELECT s.n, s.seq, s.deleted, s.modified, s.dialect, s.cwd, s.heading, d.texts, d.digest, d.kept, d.marks, d.claims, d.labels
		FROM sessions s CROSS JOIN details d ON d.n = s.n WHERE s.id = ?`,
	"insert": `INSERT INTO sessions(id, seq, snapshot, change, deleted, closed, held, created, modified, size, entries, cost, agent_id, dialect, cwd, name, heading)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	"update": `UPDATE sessions SET seq = ?, snapshot = ?, change = ?, deleted = ?, closed = ?, held = ?, created = ?, modified = ?, size = ?, entries = ?, cost = ?,
		agent_id = ?, dialect = ?, cwd = ?, name = ?, heading = ? WHERE n = ?`,
	"detail":        `REPLACE INTO details(n, texts, digest, kept, marks, claims, labels, row) VALUES(?, ?, ?, ?, ?, ?, ?, ?)`,
	"undetail":      `DELETE FROM details WHERE n = ?`,
	"delete":        `DELETE FROM sessions WHERE n = ?`,
	"removed":       `INSERT INTO removed(change, id) VALUES(?, ?)`,
	"unremoved":     `DELETE FROM removed WHERE change <= ?`,
	"trimmed":       `REPLACE INTO meta(key, value) VALUES('trimmed', ?)`,
	"mark":          `REPLACE INTO marks(mark, n, ` + narrow + `) SELECT ?, n, ` + narrow + ` FROM sessions WHERE n = ?`,
	"unmark":        `DELETE FROM marks WHERE mark = ? AND deleted = ? AND modified = ? AND id = ?`,
	"hold":          `INSERT INTO holders(n, head, writer, since) VALUES(?, ?, ?, ?)`,
	"unhold":        `DELETE FROM holders WHERE n = ?`,
	"link":          `INSERT OR IGNORE INTO links(child, parent) VALUES(?, ?)`,
	"unlink":        `DELETE FROM links WHERE child = ?`,
	"docs":          `SELECT id, place, entry, kind, text FROM docs WHERE n = ? AND place >= ? ORDER BY place`,
	"doc":           `INSERT INTO docs(id, n, place, entry, kind, text) VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
	"undoc":         `DELETE FROM docs WHERE id = ?`,
	"free":          `SELECT max(id) + 1 FROM docs WHERE id >= ?1 AND id < ?1 + 1048576`,
	"words":         `INSERT INTO words(rowid, text, scope) VALUES(?, ?, ?)`,
	"unwords":       `INSERT INTO words(words, rowid, text, scope) VALUES('delete', ?, ?, ?)`,
	"headings":      `INSERT INTO headings(rowid, name, first) VALUES(?, ?, ?)`,
	"unheadings":    `INSERT INTO headings(headings, rowid, name, first) VALUES('delete', ?, ?, ?)`,
	"prompts":       `SELECT id, text FROM prompts WHERE session = ? ORDER BY id`,
	"lastPrompt":    `SELECT created, text FROM prompts WHERE session = ? ORDER BY place DESC, part DESC LIMIT 1`,
	"prompt":        `INSERT INTO prompts(session, place, part, entry, dialect, host, cwd, created, text, cut) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	"unprompt":      `DELETE FROM prompts WHERE session = ?`,
	"promptWords":   `INSERT INTO prompt_words(rowid, text) VALUES(?, ?)`,
	"unpromptWords": `INSERT INTO prompt_words(prompt_words, rowid, text) VALUES('delete', ?, ?)`,
	"floor":         `INSERT INTO floors(shard, floor) VALUES(?, ?) ON CONFLICT DO UPDATE SET floor = excluded.floor`,
}
