package claude

import "github.com/sesslog/sesslog/core/item"

// editTools are the agent's tools that change files.
var editTools = map[string]item.EditTool{
	"Edit":      {Path: "file_path", Old: "old_string", New: "new_string"},
	"MultiEdit": {Path: "file_path", Old: "old_string", New: "new_string", List: "edits"},
	"Write":     {Path: "file_path", Content: "content"},
}

// EditTools implements optional.Editor.
func (Dialect) EditTools() map[string]item.EditTool { return editTools }
