// Package demo has the command "noregret demo": the decision service on this machine with simulated
// users, whose truth is known, and "noregret demo cluster": three nodes that are killed.
package demo
