// Package item defines what sessions say in terms that all agents share: messages,
// models, labels, summaries. The Translator of a dialect reads and writes them.
package item
