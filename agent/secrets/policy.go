package secrets

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Mode says what happens to secrets in lines that leave the host.
type Mode string

// The modes. The zero value is Off.
const (
	Off    Mode = "off"
	Report Mode = "report" // secrets are reported, and the lines stay as they are
	Masked Mode = "mask"   // masks replace the secrets
)

// ParseMode returns the mode called name, Off for an empty name.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case "":
		return Off, nil
	case Off, Report, Masked:
		return m, nil
	}
	return Off, fmt.Errorf("secrets is %.80q, want off, report or mask: %w", name, core.ErrInvalid)
}

// A Policy is a mode and its rules. The zero Policy is Off.
type Policy struct {
	Mode  Mode
	Rules *Rules // not needed if the mode is Off
}

// Mask returns lines as they may leave the host.
func (p Policy) Mask(lines []byte) []byte {
	if p.Mode != Masked {
		return lines
	}
	return p.Rules.Mask(lines)
}

// Report returns the findings of a line that must be reported: none unless the mode
// is Report.
func (p Policy) Report(line []byte) []Finding {
	if p.Mode != Report {
		return nil
	}
	return p.Rules.Find(line)
}
