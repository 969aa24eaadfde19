// Package service has the commands of the decision service: serve, which runs it, experiment,
// alerts and audit, which call it, and log, backup and restore, which work on its data.
//
// serve takes its flags from the command line, environment variables and a file, in this order. The
// commands that call a service share the flags --server and --token-file.
package service
