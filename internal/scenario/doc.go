// Package scenario runs tests that are written as text: commands, their input, and
// the expected output.
//
//	# a comment
//	command arg...
//	a line of input
//	----
//	a line of output
//
// An empty line ends the output. Commands without output may be followed directly
// by "----" and an empty line. go test -rewrite replaces the expected output by the
// actual one.
package scenario
