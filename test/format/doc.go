// Package format holds the programs to docs/FORMAT.md and to the files of
// earlier versions. For each version of the format, testdata has a folder that
// was written once by the programs of that time:
//
//	sessions.json    the cursor, heads and state of each session
//	ID.jsonl         the session's file
//	ID.records       its records (core/recordio)
//	ID.snapshot.zst  its snapshot as stored, if it has one
//	backup/          a backup of all sessions
//	data.tar.gz      the data directory of the node, after it was stopped
//
// A folder never changes: users have such files on disk. A new version of the
// format gets a new folder:
//
//	go test ./test/format -run TestMakeFixtures -update
//
// Package reader below reads the same files without any code of the project.
// The example session in docs/FORMAT.md is written by this version and compared
// by a test; to replace it:
//
//	go test ./test/format -run TestExampleInDocument -document
package format
