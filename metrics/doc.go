// Package metrics tells Prometheus how a node does. It is the only package that
// knows of Prometheus: the others count for themselves or tell an observer, and
// cmd/sessnode fits them together.
//
// What happens now and then, such as an append, is counted when it happens. What
// can be asked at any time, such as how full a shard is, is asked when somebody
// scrapes, and costs nothing in between.
//
// Label values are few and known beforehand, or bounded by the node's settings:
// shards, patterns of routes, outcomes. None is an id, a name that a caller chose,
// or a text. docs/METRICS.md lists everything; a test holds it to a real node.
package metrics
