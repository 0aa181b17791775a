package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/internal/memory"
)

// pictures are the types of images that a page shows. Other types, such as SVG, can contain
// scripts.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"}

// entryLine returns the line of the entry that a request names. A share link has no id.
func entryLine(r *http.Request, c *client.Client) ([]byte, error) {
	line, err := c.EntryLine(r.Context(), r.PathValue("id"), r.FormValue("entry"))
	if err == nil {
		err = memory.Grow(r.Context(), int64(len(line))*shownWork)
	}
	return line, err
}

// raw shows an entry as its agent wrote it.
func (p *page) raw(w http.ResponseWriter, r *http.Request) error {
	line, err := entryLine(r, p.client(r))
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if len(line) > 8<<20 || json.Indent(&pretty, line, "", "  ") != nil {
		pretty.Reset()
		pretty.Write(line)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = pretty.WriteTo(w)
	return err
}

// image serves an image of an entry. It is read through the entry, so that a token for
// some sessions reads those of these sessions only.
func (p *page) image(w http.ResponseWriter, r *http.Request) error {
	src, err := p.partSource(r)
	if err != nil {
		return err
	}
	line, err := entryLine(r, src.Client)
	if err != nil {
		return err
	}
	e, err := src.d.Entry(line)
	if err != nil {
		return err
	}
	images := imagesOf(src.d, e)
	n, err := strconv.Atoi(r.FormValue("n"))
	if err != nil || n < 0 || n >= len(images) {
		return fmt.Errorf("the entry has no image %.20q: %w", r.FormValue("n"), core.ErrNotFound)
	}
	kind, data, ok := picture(images[n])
	if !ok {
		return fmt.Errorf("the image is of a type that a page does not show; it is in the raw entry: %w", core.ErrNotFound)
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, max-age=60") // the entry may be redacted
	_, err = w.Write(data)
	return err
}

// imagesOf returns the images of an entry, in the order of the page.
func imagesOf(d core.Dialect, e core.Entry) (images []item.Block) {
	for _, it := range d.Read(e) {
		for _, b := range it.Blocks {
			for _, b := range append([]item.Block{b}, b.Blocks...) {
				if b.Kind == item.BlockImage {
					images = append(images, b)
				}
			}
		}
	}
	return images
}

// picture returns the type and the bytes of an image, or false if a page may not show
// it.
func picture(b item.Block) (kind string, data []byte, ok bool) {
	text := b.Data
	if rest, isURL := strings.CutPrefix(text, "data:"); isURL {
		_, text, _ = strings.Cut(rest, ",")
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return "", nil, false
	}
	kind, _, _ = mime.ParseMediaType(b.MIME)
	if sniffed := http.DetectContentType(data); slices.Contains(pictures, sniffed) {
		kind = sniffed
	}
	return kind, data, slices.Contains(pictures, kind)
}
