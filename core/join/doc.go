// Package join makes the entries of one session out of those of two.
//
// Sessions of a linear dialect are put one behind the other, as they are. Of
// sessions that are trees the paths to their leaves are: what both paths begin
// with is there once, and the first entry that is the second's alone goes on
// where the first path ends. Lines keep their bytes but for the ids that have to
// change: the parent of that entry, and ids that the first session uses for
// another entry, with all that names them. Labels come along, also those that
// were given elsewhere in the tree.
//
// The package does not say what the new session means to a model. Above all, a
// compaction of the second session sums up the second session alone, and its
// agent will not show what is before it.
package join
