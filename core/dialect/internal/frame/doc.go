// Package frame has what the dialects of pi, omp and operator share beyond their
// lines: the methods that are the same for every session that is a tree of JSON
// lines, and the parts of Info and Summary that do not depend on the spelling of
// members. Sequence has the methods of dialects without branches, and Lines those of
// Sesslog's own dialects.
package frame
