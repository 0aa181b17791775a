package client

import (
	"bufio"
	"context"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api"
)

// Status summarizes the node.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return get[api.Status](ctx, c, "/v1/status", nil)
}

// Metrics returns values of GET /metrics by name: the sum of all series with the
// wanted labels, written as `name{label="value"}` or just as name. Missing series
// are absent.
func (c *Client) Metrics(ctx context.Context, wanted ...string) (map[string]float64, error) {
	r, err := c.fetch(ctx, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	out := map[string]float64{}
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		series, value, ok := cutLast(lines.Text(), " ")
		if !ok || strings.HasPrefix(series, "#") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		for _, want := range wanted {
			if isOf(series, want) {
				out[want] += n
			}
		}
	}
	return out, lines.Err()
}

// isOf reports whether a series is one of those wanted.
func isOf(series, wanted string) bool {
	name, labels, _ := strings.Cut(series, "{")
	wantName, wantLabel, _ := strings.Cut(strings.TrimSuffix(wanted, "}"), "{")
	return name == wantName && strings.Contains(","+labels, ","+wantLabel)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
