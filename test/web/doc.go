// Package web checks the web page in a real browser without a window: what it shows,
// what it follows, and that hostile sessions do nothing in it. It has tests only.
//
// The tests need Chromium and run with -args -browser. With -args -browser -screenshots
// DIR they also write a picture of each page to DIR.
package web
