// Package dataurl reads and writes data URLs of base64, as some agents' messages
// hold images.
package dataurl

import "strings"

// Parse returns the media type and the base64 of a data URL. It reports false
// for any other text.
func Parse(url string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return "", "", false
	}
	head, ok = strings.CutSuffix(head, ";base64")
	mime, _, _ = strings.Cut(head, ";")
	return mime, data, ok
}

// URL returns the data URL of base64 data. An empty mime is that of unknown
// bytes.
func URL(mime, data string) string {
	if mime == "" {
		mime = "application/octet-stream"
	}
	return "data:" + mime + ";base64," + data
}
