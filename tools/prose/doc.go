// Command prose checks the English of the repository: documents, Go comments,
// the texts that the programs print, and the names of tests.
//
//	tools/prose/check                 everything but what pending.txt lists
//	tools/prose/check PATH...         these files and folders
//	tools/prose/check -count          how many findings each folder has
//
// The words are in words.yml, in the format of Vale's substitution rules. Vale
// itself is not used: it compiles 30 Tree-sitter grammars with cgo (two minutes,
// 550 MB) and does not read string literals, which hold help and errors.
//
// The other rules: a sentence of a document has at most 45 words, the first line
// of an error at most 120 characters, the Short text of a command at most 60.
package main
