// Package eventlog is a durable, totally ordered log of opaque events.
package eventlog

import _ "github.com/cockroachdb/pebble/v2"
