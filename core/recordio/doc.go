// Package recordio writes records as bytes outside of a log: on their way from a
// node to a backup and back, and in the backup itself.
//
// A record is a line of JSON with everything that its chain covers but the body,
// and then the body, byte for byte, and a newline. A body that the log keeps as a
// blob is not there: the line names its digest. So a reader can prove each record
// by the one before it, and whatever was changed on the way is found.
//
// The package does not decide which records follow each other; that is for Chain.
package recordio
