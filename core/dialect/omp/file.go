package omp

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/migrate"
)

// File reads a session file: the title slot, if there is one, then header and
// entries. As in omp, an object may span several lines, which are joined here,
// and only the first object of a line counts. Empty lines are left out.
// Everything else that is not an object is skipped and reported, including
// before the header. A file older than version 3 is migrated.
func (d Dialect) File(data []byte) (*core.File, error) {
	body, marked := bytes.CutPrefix(data, jsonl.ByteOrderMark)
	if len(body) == 0 {
		return nil, fmt.Errorf("not an omp session: the file is empty: %w", core.ErrInvalid)
	}
	r := reader{rest: body, line: 1, budget: 4*len(body) + 1<<16, clean: !marked && bytes.HasSuffix(body, []byte("\n"))}
	slot := r.slot()
	r.read()
	records := r.records
	if len(records) == 0 {
		return nil, r.nothing()
	}
	h, err := asHeader(records[0])
	if err != nil {
		return nil, fmt.Errorf("not an omp session: line %d: %w", r.lines[0], err)
	}
	f := &core.File{Dialect: "omp", Header: h, Skipped: r.skipped}
	migrated := false
	f.Version, migrated, err = migrate.ToV3(records)
	if err != nil {
		return nil, err
	}
	f.Header.Line = records[0].Line
	f.Entries, f.Lines = records[1:], r.lines[1:]
	whole := records
	if slot.Line != nil {
		f.Entries = append([]core.Entry{slot}, f.Entries...)
		f.Lines = append([]int{1}, f.Lines...)
		whole = append([]core.Entry{slot}, records...)
	}
	f.Exact = r.clean && !migrated && slices.EqualFunc(d.Layout(f.Header, f.Entries), whole, sameLine)
	return f, nil
}

// AgentFile implements optional.AgentReader: omp fails at a line null, and at a message
// entry without a message.
func (d Dialect) AgentFile(data []byte) (*core.File, error) {
	for n, line := range jsonl.Numbered(data) {
		if string(bytes.TrimSpace(line)) == "null" {
			return nil, fmt.Errorf("line %d is null: %w", n, core.ErrInvalid)
		}
	}
	f, err := d.File(data)
	if err != nil {
		return nil, err
	}
	return f, jsonl.CheckMessages(f.Entries)
}

func sameLine(a, b core.Entry) bool { return bytes.Equal(a.Line, b.Line) }

// headerWithin is how far into a file Detect looks.
const headerWithin = 1 << 20

// Detect reports whether data begins like a file that only omp can have
// written: with a title slot and a header, with a header that names the source
// of its title, or with a header and, soon after it, an entry that pi does not
// have. Any other file that begins with a header is taken for pi's, from which
// omp derives.
func (Dialect) Detect(data []byte) bool {
	body := bytes.TrimPrefix(data, jsonl.ByteOrderMark)
	r := reader{rest: body[:min(len(body), headerWithin)], line: 1, budget: headerWithin}
	slot := r.slot()
	for i, n := 0, 0; r.next(); i = n {
		if n = len(r.records); n == i {
			continue
		}
		switch e := r.records[i]; {
		case i > 0 && isOwn(e):
			return true
		case i > 0:
		case e.Type != typeHeader:
			return false
		default:
			if _, err := jsonl.Header(e); err != nil {
				return false
			}
			if slot.Line != nil || hasTitleSource(e) {
				return true
			}
		}
	}
	return false
}

func hasTitleSource(e core.Entry) bool {
	o, err := jsonl.Object(e)
	if err != nil {
		return false
	}
	source, _ := o.Get("titleSource").Text()
	return isSource(source)
}

// isOwn reports whether e is an entry as only omp writes it.
func isOwn(e core.Entry) bool {
	switch e.Type {
	case "service_tier_change", "mode_change", typeReset, typeRename, "ttsr_injection", "credential_pin", "session_init", "model_usage":
		return true
	case "model_change":
		o, err := jsonl.Object(e)
		return err == nil && o.Get("model").Kind() == '"' && o.Get("modelId") == nil
	}
	return false
}
