package optional

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// CheckItem returns core.ErrInvalid for an item that lacks a text without which its
// entry says nothing to the agent of d: a part of a model, as far as the agent keeps
// it, the name of a mode or channel, the type of an extension's entry. Converted items
// may lack it.
func CheckItem(d core.Translator, it item.Item) error {
	switch it.Kind {
	case item.Model:
		_, lost := d.Write(item.Item{Kind: item.Model, Provider: "p", Model: "m"})
		if it.Model == "" || it.Provider == "" && len(lost) == 0 {
			return fmt.Errorf("a model is a provider and a name, such as anthropic and claude-opus-4-5; given are %.64q and %.64q: %w", it.Provider, it.Model, core.ErrInvalid)
		}
	case item.Mode, item.Channel:
		if it.Text == "" {
			return fmt.Errorf("the name of the %s is empty: %w", it.Kind, core.ErrInvalid)
		}
	case item.Custom, item.Note:
		line, _ := d.Write(item.Item{Kind: item.Custom, Type: "t"})
		if it.Type == "" && line != nil {
			return fmt.Errorf("the type of the %s, the extension's own name for it, is empty: %w", it.Kind, core.ErrInvalid)
		}
	}
	return nil
}
