package omp

import (
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/filename"
)

// SubagentOf returns the id of the session whose agent started the subagent
// with the session at path. ok is false if path is not that of a subagent's
// session, which lies in the directory with the name of the parent's file
// without its extension. Only the path tells this; the header does not.
func SubagentOf(path string) (parent string, ok bool) {
	path = strings.ReplaceAll(path, `\`, "/")
	i := strings.LastIndexByte(path, '/')
	if i < 0 || !strings.HasSuffix(path, ".jsonl") {
		return "", false
	}
	parent, isPath := filename.ParentID(path[:i] + ".jsonl")
	return parent, isPath && parent != ""
}
