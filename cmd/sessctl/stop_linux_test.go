package main

const stopsTogether = true
