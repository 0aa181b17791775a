// Command promql reads a JSON array of PromQL expressions and writes for each its
// metrics and labels, or its error. With the path of a test file for promtool, it
// writes the differences from the expected alerts. It is a separate module, so
// that neither parser nor engine is a dependency of the programs.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/promql/parser"
)

// A Parsed is one expression.
type Parsed struct {
	Error   string   `json:"error,omitempty"`
	Metrics []string `json:"metrics"` // that it names
	Labels  []string `json:"labels"`  // that it selects or groups by
}

func main() {
	if len(os.Args) > 1 {
		wrong, err := testRules(os.Args[1])
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		for _, what := range wrong {
			fmt.Println(what)
		}
		if len(wrong) > 0 {
			os.Exit(1)
		}
		return
	}
	var exprs []string
	if err := json.NewDecoder(os.Stdin).Decode(&exprs); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
	out := make([]Parsed, len(exprs))
	for i, expr := range exprs {
		out[i] = parse(expr)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func parse(text string) (p Parsed) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return Parsed{Error: err.Error()}
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			p.Metrics = append(p.Metrics, n.Name)
			for _, m := range n.LabelMatchers {
				if m.Name != "__name__" {
					p.Labels = append(p.Labels, m.Name)
				}
			}
		case *parser.AggregateExpr:
			p.Labels = append(p.Labels, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				p.Labels = append(p.Labels, n.VectorMatching.MatchingLabels...)
			}
		}
		return nil
	})
	return p
}
