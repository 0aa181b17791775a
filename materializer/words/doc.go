// Package words says what a word is in the texts that a node can be asked for,
// and how a query is read: for the prompt history and for the search of all
// messages alike.
//
// Words are those of Unicode; in scripts without blanks between them, each
// letter is taken for one. Case and accents do not matter.
//
// The package is pure: it knows the full-text engine's expressions (FTS5 of
// SQLite) as strings, and no database.
package words
