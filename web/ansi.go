package web

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core/display"
)

// ansi returns the text of a terminal as HTML: colors as classes, other sequences left
// out, and of a line that was overwritten its last form.
func ansi(s string) template.HTML {
	var out strings.Builder
	var classes []string
	write := func(text string) {
		if text == "" {
			return
		}
		text = template.HTMLEscapeString(visible(text))
		if len(classes) == 0 {
			out.WriteString(text)
			return
		}
		out.WriteString(`<span class="` + strings.Join(classes, " ") + `">` + text + `</span>`)
	}
	s = overwritten(s)
	end := 0
	for _, at := range display.Escapes.FindAllStringIndex(s, -1) {
		write(s[end:at[0]])
		end = at[1]
		if seq := s[at[0]:at[1]]; strings.HasPrefix(seq, "\x1b[") && strings.HasSuffix(seq, "m") {
			classes = colored(classes, seq[2:len(seq)-1])
		}
	}
	write(s[end:])
	return template.HTML(out.String()) // #nosec G203 -- all text is escaped above
}

// overwritten keeps of each line what stands after its last carriage return.
func overwritten(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.Contains(s, "\r") {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// weights are the classes of the codes of SGR that are not colors.
var weights = map[int]string{1: "bold", 2: "dim", 3: "italic", 4: "under"}

// colored returns the classes after a sequence of SGR with these codes.
func colored(classes []string, codes string) []string {
	classes = slices.Clone(classes)
	set := func(group, class string) {
		classes = slices.DeleteFunc(classes, func(c string) bool { return strings.HasPrefix(c, group) || c == class })
		if class != "" {
			classes = append(classes, class)
		}
	}
	fields := strings.FieldsFunc(codes+";", func(r rune) bool { return r == ';' || r == ':' })
	if len(fields) == 0 {
		return nil
	}
	for i := 0; i < len(fields); i++ {
		n, err := strconv.Atoi(fields[i])
		switch {
		case err != nil:
		case n == 0:
			classes = nil
		case weights[n] != "":
			set(weights[n], weights[n])
		case n == 22:
			set("bold", "")
			set("dim", "")
		case n == 23:
			set("italic", "")
		case n == 24:
			set("under", "")
		case n >= 30 && n <= 37, n >= 90 && n <= 97:
			set("fg-", "fg-"+strconv.Itoa(n%10+n/90*8))
		case n >= 40 && n <= 47, n >= 100 && n <= 107:
			set("bg-", "bg-"+strconv.Itoa(n%10+n/100*8))
		case n == 39:
			set("fg-", "")
		case n == 49:
			set("bg-", "")
		case n == 38 || n == 48: // a color of 256, or of three parts
			group := map[int]string{38: "fg-", 48: "bg-"}[n]
			if i+2 < len(fields) && fields[i+1] == "5" {
				if c, err := strconv.Atoi(fields[i+2]); err == nil && c >= 0 && c < 16 {
					set(group, group+strconv.Itoa(c))
				}
				i += 2
			} else if i+1 < len(fields) && fields[i+1] == "2" {
				i += 4
			}
		}
	}
	return classes
}
