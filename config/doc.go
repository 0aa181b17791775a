// Package config has all settings of a sessnode, in one documented struct.
//
// A value comes from the first of these that has it: a flag (--nats-listen), the
// environment (SESS_NATS_LISTEN), the YAML file (nats: listen:), the default.
// The names follow from the struct. An unknown key is an error, and Check names
// every fault at once.
//
// The package imports no other of the module: cmd/sessnode copies its fields into
// the Configs of the packages.
package config
