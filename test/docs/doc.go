// Package docs checks the documents: links and anchors resolve, the tests that
// they name exist, and docs/API-REFERENCE.md is what api/openapi.json says. It
// has tests only.
package docs
