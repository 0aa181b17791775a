package api

import "bytes"

// EntryLines splits a body into its lines, blank ones left out, and says which
// line of the body each is.
func EntryLines(body []byte) (lines [][]byte, numbers []int) {
	for n := 1; len(body) > 0; n++ {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		if len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, line)
			numbers = append(numbers, n)
		}
		body = rest
	}
	return lines, numbers
}
