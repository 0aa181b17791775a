package main

const stopsAlong = true
