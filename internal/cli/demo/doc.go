// Package demo has the command "noregret demo": the decision service on this machine with simulated
// users, whose truth is known.
package demo
