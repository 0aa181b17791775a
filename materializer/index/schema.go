package index

// version is the version of the schema and of how sessions are read. A file of
// another version is rebuilt.
const version = 6

// The table sessions has only the columns by which sessions are found and ordered,
// so that many rows fit on a page. The row as JSON, and what only writing needs,
// are in details. Each order has an index that begins with deleted, which every
// listing selects. The indexes of the default order, of directories and of marks
// cover the columns of most filters, so walking one of them reads no rows.
//
// words, headings and prompt_words are contentless full-text tables over docs,
// sessions and prompts: deleting from them takes the text. They overwrite what is
// deleted, except texts that are trimmed. words.scope holds the
// session, directory, dialect and tags of a text as words, so that FTS5 narrows by
// them. headings holds the trigrams of names and first messages, for searches
// within a word. (With detail=none its secure deletion loses rows.)
const schema = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE floors(shard INTEGER PRIMARY KEY, floor TEXT NOT NULL);
CREATE TABLE sessions(
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	seq INTEGER NOT NULL, snapshot INTEGER NOT NULL, change INTEGER NOT NULL,
	deleted INTEGER NOT NULL, closed INTEGER NOT NULL, held INTEGER NOT NULL,
	created INTEGER NOT NULL, modified INTEGER NOT NULL, changed INTEGER NOT NULL,
	size INTEGER NOT NULL, entries INTEGER NOT NULL, cost REAL NOT NULL,
	agent_id TEXT NOT NULL, dialect TEXT NOT NULL, cwd TEXT NOT NULL,
	name TEXT NOT NULL, heading TEXT NOT NULL
);
CREATE TABLE details(
	n INTEGER PRIMARY KEY,
	texts INTEGER NOT NULL, digest INTEGER NOT NULL, kept INTEGER NOT NULL,
	marks TEXT NOT NULL, claims TEXT NOT NULL, labels TEXT NOT NULL,
	row TEXT NOT NULL
);
CREATE INDEX by_modified ON sessions(deleted, modified DESC, id, cwd, dialect, closed, held, created, size, cost, entries, heading);
CREATE INDEX by_changed ON sessions(deleted, changed DESC, id);
CREATE INDEX by_created ON sessions(deleted, created DESC, id);
CREATE INDEX by_name ON sessions(deleted, name, id);
CREATE INDEX by_size ON sessions(deleted, size DESC, id);
CREATE INDEX by_cost ON sessions(deleted, cost DESC, id);
CREATE INDEX by_entries ON sessions(deleted, entries DESC, id);
CREATE INDEX by_cwd ON sessions(deleted, cwd, modified DESC, id, dialect, closed, held, created, size, cost, entries);
CREATE INDEX by_dialect ON sessions(deleted, dialect, modified DESC, id);
CREATE INDEX by_change ON sessions(change);
CREATE INDEX by_agent_id ON sessions(agent_id) WHERE agent_id <> '';
CREATE INDEX by_held ON sessions(n) WHERE held = 1;
CREATE INDEX by_uncovered ON sessions(id) WHERE snapshot + 1 < seq AND deleted < 2;
CREATE TABLE removed(change INTEGER PRIMARY KEY, id TEXT NOT NULL);
CREATE TABLE marks(
	mark TEXT NOT NULL,
	deleted INTEGER NOT NULL, modified INTEGER NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL,
	cwd TEXT NOT NULL, dialect TEXT NOT NULL, closed INTEGER NOT NULL, held INTEGER NOT NULL,
	created INTEGER NOT NULL, size INTEGER NOT NULL, cost REAL NOT NULL, entries INTEGER NOT NULL,
	PRIMARY KEY(mark, deleted, modified DESC, id)
) WITHOUT ROWID;
CREATE TABLE holders(n INTEGER NOT NULL, head TEXT NOT NULL, writer TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY(n, head)) WITHOUT ROWID;
CREATE TABLE links(child TEXT NOT NULL, parent TEXT NOT NULL, PRIMARY KEY(child, parent)) WITHOUT ROWID;
CREATE INDEX links_down ON links(parent, child);
CREATE TABLE docs(
	id INTEGER PRIMARY KEY,
	n INTEGER NOT NULL, place INTEGER NOT NULL,
	entry TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX docs_of ON docs(n, place);
CREATE VIRTUAL TABLE words USING fts5(text, scope, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
CREATE VIRTUAL TABLE headings USING fts5(name, first, content='', columnsize=0, detail=column, tokenize='trigram case_sensitive 1');
INSERT INTO headings(headings, rank) VALUES('secure-delete', 1);
CREATE TABLE prompts(
	id INTEGER PRIMARY KEY,
	session TEXT NOT NULL, place INTEGER NOT NULL, part INTEGER NOT NULL, entry TEXT NOT NULL,
	dialect TEXT NOT NULL, host TEXT NOT NULL, cwd TEXT NOT NULL,
	created INTEGER NOT NULL, text TEXT NOT NULL, cut INTEGER NOT NULL,
	UNIQUE(session, place, part)
);
CREATE INDEX prompts_newest ON prompts(created, session, place, part);
CREATE INDEX prompts_by_cwd ON prompts(cwd, created, session, place, part);
CREATE VIRTUAL TABLE prompt_words USING fts5(text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2');
INSERT INTO prompt_words(prompt_words, rank) VALUES('secure-delete', 1);
`
