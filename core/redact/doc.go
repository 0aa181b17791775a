// Package redact removes content from agents' lines.
package redact
