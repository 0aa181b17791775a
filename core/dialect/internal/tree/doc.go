// Package tree reads entries that name their parents as a tree: paths, the
// order in which they are shown, labels. It treats every line as an entry; the
// agent's own package leaves out other lines before.
package tree
