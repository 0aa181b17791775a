// Package recordio encodes records outside of a log: between a node and a
// backup, and in the backup itself.
//
// A record is a line of JSON with everything that its chain covers except the
// body, followed by the body, byte for byte, and a newline. A body that the log
// stores as a blob is left out: the line has its digest. A reader can therefore
// verify each record against the previous one and detects any change on the
// way.
//
// The package does not decide which records follow each other; core.Chain does.
package recordio
