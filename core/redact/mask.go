package redact

import (
	"bytes"
	"regexp"
)

const maskPrefix = "[masked:"

var maskForm = regexp.MustCompile(`\[masked:[A-Za-z0-9._-]{1,64}\]`)

// Mask returns what replaces a secret that a rule has found.
func Mask(rule string) string { return maskPrefix + rule + "]" }

// Masks returns the positions of masks in line.
func Masks(line []byte) [][]int {
	if !bytes.Contains(line, []byte(maskPrefix)) {
		return nil
	}
	return maskForm.FindAllIndex(line, -1)
}

// Covers reports whether line becomes masked if its secrets are replaced by masks,
// whatever the rules are. It is false for a line without masks.
func Covers(masked, line []byte) bool {
	masks := Masks(masked)
	if len(masks) == 0 || !bytes.HasPrefix(line, masked[:masks[0][0]]) {
		return false
	}
	line = line[masks[0][0]:]
	for i, m := range masks[1:] {
		piece := masked[masks[i][1]:m[0]]
		at := bytes.Index(line, piece)
		if at < 0 {
			return false
		}
		line = line[at+len(piece):]
	}
	return bytes.HasSuffix(line, masked[masks[len(masks)-1][1]:])
}
