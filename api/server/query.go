package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// queriesOf returns the names of the query parameters of each call, by pattern, as
// the OpenAPI description has them.
func queriesOf(description []byte) (map[string][]string, error) {
	type parameter struct {
		Ref      string `json:"$ref"`
		In, Name string
	}
	var doc struct {
		Paths      map[string]map[string]struct{ Parameters []parameter }
		Components struct{ Parameters map[string]parameter }
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI description: %w", err)
	}
	queries := map[string][]string{}
	for path, calls := range doc.Paths {
		for method, call := range calls {
			pattern := strings.ToUpper(method) + " " + path
			queries[pattern] = []string{}
			for _, p := range call.Parameters {
				if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
					p = doc.Components.Parameters[name]
				}
				if p.In == "query" {
					queries[pattern] = append(queries[pattern], p.Name)
				}
			}
		}
	}
	return queries, nil
}

// describedQueries are those of the description that this program serves. A test
// compares it with the routes.
var describedQueries = sync.OnceValue(func() map[string][]string {
	queries, err := queriesOf(api.OpenAPI())
	if err != nil {
		panic(err)
	}
	return queries
})

// checkQuery refuses query parameters that the call does not have: an answer that
// ignores what was asked for would be wrong.
func checkQuery(rt *route, r *http.Request) error {
	if r.URL.RawQuery == "" || rt.has(foreign) {
		return nil
	}
	known := describedQueries()[rt.pattern]
	for _, name := range slices.Sorted(maps.Keys(r.URL.Query())) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("query parameter %.64q: this call has %s: %w", name, cmp.Or(strings.Join(known, ", "), "none"), core.ErrInvalid)
		}
	}
	return nil
}
