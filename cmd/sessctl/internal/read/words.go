package read

import (
	"fmt"
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
)

// words are what an entry says, in a few words.
type words struct {
	who  string // a role, empty if it is not a message
	text string
}

// wordsOf returns the words of the first item of e that has some.
func wordsOf(d core.Dialect, e core.Entry) (w words) {
	for _, it := range d.Read(e) {
		w = words{text: itemText(it)}
		if it.Kind == item.Message {
			w = messageWords(it)
		}
		if w != (words{}) {
			return w
		}
	}
	return w
}

func messageWords(it item.Item) words {
	who := string(it.Role)
	if len(it.Blocks) == 1 && it.Blocks[0].Kind == item.BlockResult {
		return words{cli.Join(" ", who, it.Blocks[0].Name), clipText(textOf(it.Blocks[0].Blocks))}
	}
	return words{who, clipText(cli.Join(" ", textOf(it.Blocks), it.Error))}
}

// textOf returns the texts and calls of blocks, or thoughts if there is nothing else.
func textOf(blocks []item.Block) string {
	var said, thought []string
	for _, b := range blocks {
		switch b.Kind {
		case item.BlockText:
			said = append(said, clipText(b.Text))
		case item.BlockImage, item.BlockAudio:
			said = append(said, "("+string(b.Kind)+")")
		case item.BlockThinking:
			thought = append(thought, "("+clipText(b.Text)+")")
		case item.BlockCall:
			said = append(said, "["+cli.Join(" ", b.Name, clipText(display.Gist(b.Args)))+"]")
		case item.BlockResult:
			said = append(said, clipText(textOf(b.Blocks)))
		}
	}
	if len(said) == 0 {
		said = thought
	}
	return strings.Join(said, " ")
}

// itemText returns the text of an item that is not a message.
func itemText(it item.Item) string {
	switch it.Kind {
	case item.Model:
		return cli.Join("/", it.Provider, it.Model)
	case item.Label:
		if it.Text == "" {
			return "no label on " + it.Target
		}
		return fmt.Sprintf("%q on %s", it.Text, it.Target)
	case item.Note, item.Custom:
		return cli.Join(": ", it.Type, clipText(textOf(it.Blocks)))
	}
	return clipText(it.Text)
}
