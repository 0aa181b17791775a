//go:build unix && !linux

package main

const stopsAlong = false
