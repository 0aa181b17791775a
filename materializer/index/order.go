package index

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// An order is how a listing is sorted: by a column and the id, each ascending or
// descending.
type order struct {
	sort     catalog.Sort
	down     bool // the column descends; ids ascend unless reversed
	reversed bool
}

func orderOf(f *catalog.Filter) order {
	o := order{sort: f.Sort, reversed: f.Reverse}
	if o.sort == "" {
		o.sort = catalog.SortModified
	}
	o.down = (o.sort != catalog.SortName) != o.reversed
	return o
}

// by returns what follows ORDER BY.
func (o order) by(column, id string) string {
	if o.down {
		column += " DESC"
	}
	if o.reversed {
		id += " DESC"
	}
	return column + ", " + id
}

// A pageEnd is where a page ended.
type pageEnd struct {
	key any // value of the order's column
	id  string
}

// format returns p as a string for the caller, who passes it back for the next
// page.
func (o order) format(p pageEnd) string {
	var key string
	switch k := p.key.(type) {
	case int64:
		key = strconv.FormatInt(k, 10)
	case float64:
		key = strconv.FormatFloat(k, 'g', -1, 64)
	case string:
		key = base64.RawURLEncoding.EncodeToString([]byte(k))
	}
	turn := "n"
	if o.reversed {
		turn = "r"
	}
	return strings.Join([]string{string(o.sort), turn, key, p.id}, "~")
}

// parse is the inverse of format.
func (o order) parse(s string) (pageEnd, error) {
	parts := strings.Split(s, "~")
	if len(parts) == 4 {
		var key any
		var err error
		switch o.sort {
		case catalog.SortName:
			var b []byte
			b, err = base64.RawURLEncoding.DecodeString(parts[2])
			key = string(b)
		case catalog.SortCost:
			key, err = strconv.ParseFloat(parts[2], 64)
		default:
			key, err = strconv.ParseInt(parts[2], 10, 64)
		}
		if p := (pageEnd{key, parts[3]}); err == nil && o.format(p) == s {
			return p, nil
		}
	}
	return pageEnd{}, fmt.Errorf("after: %q is not the next value of a page in this order: %w", s[:min(len(s), 200)], core.ErrInvalid)
}
