// Package follow brings what unmodified agents write to their session files into
// the log, line by line, while they write it.
//
// A [Follower] follows directories and files ([Root]). Each complete line that
// appears in one is in the log soon afterwards, in order and once. It reads those
// files and never writes to them.
//
// # What decides
//
// The log does. Beside it there is a memory of how far each file was brought in
// (package-internal, in [Config.State]), written after the log has acknowledged.
// A memory that lags, or is gone, costs a comparison and neither loses nor
// doubles a line.
//
// # What happens to a file
//
// A file that has grown is appended. Any other change is a comparison of three:
// the lines that the file had when it was last in step, the session in the log,
// and the file. Lines that are new are appended; a line that changed here and not
// in the log is an amend; a line that left the file stays in the log, and a head
// record says that it left, where and when. Lines that are no entries, and changes
// that the log does not take, are told through [Config.Notify] and recorded, and
// stop nothing.
//
// Where somebody else went on with the session, the file's own lines are on a head
// of their own from then on. No line of another host is written into a file.
package follow
