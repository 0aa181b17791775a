// Package streamtest opens logs on test servers.
package streamtest
