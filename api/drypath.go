package api

// Prefix is where the calls are, DryRunPrefix where the dry runs of the same calls are.
const (
	Prefix       = "/v1/"
	DryRunPrefix = "/v1/dry-run/"
)
