// Package format holds this version to what earlier ones wrote. For each version
// of the format testdata has a folder, made once by the programs of its time:
//
//	sessions.json    what was there: where each session ends, its heads
//	ID.jsonl         each session's file
//	ID.records       its records, as they are sent (core/recordio)
//	ID.snapshot.zst  its snapshot, as it is stored, where it has one
//	backup/          a backup of all of it
//	data.tar.gz      the data directory of the node, after it was stopped
//
// A folder is never written again: what is in it is on people's disks. A new
// version of the format gets a new one:
//
//	go test ./test/format -update
package format
