// Package jsonline reads the JSON lines of agents, as leniently as they do.
package jsonline
