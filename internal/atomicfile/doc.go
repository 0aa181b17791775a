// Package atomicfile writes files that appear complete and durable, or not at all.
package atomicfile
