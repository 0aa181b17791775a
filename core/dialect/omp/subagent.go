package omp

import (
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/filename"
)

// SubagentOf returns the id of the session whose agent had the one at path made,
// and false where path is not that of a subagent's session: its file lies in the
// directory that is called like the parent's file, without its ending. Only the
// place tells; the header does not.
func SubagentOf(path string) (parent string, ok bool) {
	path = strings.ReplaceAll(path, `\`, "/")
	i := strings.LastIndexByte(path, '/')
	if i < 0 || !strings.HasSuffix(path, ".jsonl") {
		return "", false
	}
	parent, isPath := filename.ParentID(path[:i] + ".jsonl")
	return parent, isPath && parent != ""
}
