// Package monitoring checks the dashboard and the alerts in deploy/monitoring:
// their queries are valid PromQL and use metrics that a node exports, and the
// alerts fire on sample data. It has tests only.
package monitoring
