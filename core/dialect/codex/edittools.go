package codex

import "github.com/sesslog/sesslog/core/item"

// editTools are the agent's tools that change files.
var editTools = map[string]item.EditTool{
	"apply_patch": {Patch: "input"},
}

// EditTools implements optional.Editor.
func (Dialect) EditTools() map[string]item.EditTool { return editTools }
