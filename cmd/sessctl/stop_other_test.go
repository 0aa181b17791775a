//go:build unix && !linux

package main

const stopsTogether = false
