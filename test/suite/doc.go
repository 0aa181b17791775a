// Suite judges a session server by its HTTP API: what it owes to its clients, as
// scenarios in data. README.md explains how to run it and how to read a scenario.
package main
