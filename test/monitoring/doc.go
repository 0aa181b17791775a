// Package monitoring holds the dashboard and the alerts in deploy/monitoring to
// what a node really tells Prometheus, and to PromQL itself; and the alerts to
// sample data, on which they must fire. It has tests alone.
package monitoring
