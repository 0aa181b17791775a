package omp

import "github.com/sesslog/sesslog/core/item"

// editTools are the agent's tools that change files.
var editTools = map[string]item.EditTool{
	"edit":  {Path: "path", Old: "oldText", New: "newText", List: "edits"},
	"write": {Path: "path", Content: "content"},
}

// EditTools implements optional.Editor.
func (Dialect) EditTools() map[string]item.EditTool { return editTools }
