// Suite tests a session server by its HTTP API against what clients rely on, with
// scenarios in JSON. README.md explains how to run it and how to read a scenario.
package main
