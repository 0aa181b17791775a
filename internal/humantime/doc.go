// Package humantime formats times for people.
package humantime
