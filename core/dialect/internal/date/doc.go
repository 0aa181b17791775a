// Package date reads dates as JavaScript's Date does, as far as ISO 8601 goes.
package date
