package opencode

import "github.com/sesslog/sesslog/core/item"

// editTools are the agent's tools that change files.
var editTools = map[string]item.EditTool{
	"edit":        {Path: "filePath", Old: "oldString", New: "newString"},
	"write":       {Path: "filePath", Content: "content"},
	"apply_patch": {Patch: "patchText"},
}

// EditTools implements optional.Editor.
func (Dialect) EditTools() map[string]item.EditTool { return editTools }
