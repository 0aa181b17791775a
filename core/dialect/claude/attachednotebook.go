package claude

import (
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// notebookBlocks returns what the agent reads of the cells of a notebook: texts, and
// the pictures that they show.
func notebookBlocks(a attachment) (all []block) {
	said := "" // of the text block that is being made
	some := false
	say := func(s string) {
		if some {
			said += "\n"
		}
		said, some = said+s, true
	}
	end := func() {
		if some {
			all = append(all, textBlock(said))
		}
		said, some = "", false
	}
	_ = jsjson.Each(member(member(a.member("content"), "file"), "cells"), func(cell jsjson.Value) {
		say(cellText(cell))
		_ = jsjson.Each(member(cell, "outputs"), func(out jsjson.Value) {
			if s := text(member(out, "text")); s != "" {
				say("\n" + s)
			}
			if image := member(out, "image"); image.Kind() == '{' {
				end()
				all = append(all, pictureBlock(text(member(image, "image_data")), text(member(image, "media_type"))))
			}
		})
	})
	end()
	return all
}

func cellText(cell jsjson.Value) string {
	get := func(name string) string { return text(member(cell, name)) }
	id, kind := get("cell_id"), ""
	switch {
	case get("cellType") != "code":
		kind = "<cell_type>" + get("cellType") + "</cell_type>"
	case get("language") != "python" && get("language") != "":
		kind = "<language>" + get("language") + "</language>"
	}
	return `<cell id="` + id + `">` + kind + get("source") + `</cell id="` + id + `">`
}

// notebookNote says what a notebook without pictures holds.
func notebookNote(a attachment) string {
	b := []byte{'['}
	for i, block := range notebookBlocks(a) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsjson.AppendString(append(b, `{"text":`...), text(block.text)), `,"type":"text"}`...)
	}
	return a.readCall() + readResult + string(append(b, ']'))
}
