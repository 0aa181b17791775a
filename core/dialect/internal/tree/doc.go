// Package tree reads entries that name their parents as a tree: paths, the
// order in which they are shown, labels. Every line that it is given counts as
// an entry; what is none, the agent's own package leaves out before.
package tree
