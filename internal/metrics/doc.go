// Package metrics exports a node's metrics to Prometheus. It is the only package that
// depends on Prometheus: the others have counters or call an observer, and
// cmd/sessnode connects them.
//
// Events, such as an append, are counted when they happen. State, such as how full a
// shard is, is read during a scrape.
//
// Label values are few and fixed, or bounded by the node's settings: shards,
// route patterns, outcomes. None is an id, a name chosen by a caller, or a text.
// docs/METRICS.md lists all metrics; a test compares it with a real node.
package metrics
