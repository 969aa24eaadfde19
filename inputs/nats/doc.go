// Package nats reads the messages of a stream of NATS JetStream as lines of text.
//
// [Copy] writes each message as one line, in the order of the stream, and says from time to time at
// which message to go on: a program that keeps this number loses no message when it ends in any
// way, and may repeat those after the last number. It uses an ordered consumer, which leaves
// nothing on the server, and changes nothing there.
//
// Errors have the address as their place: not_found if there is no such stream, bad_input if the
// messages to go on at are no longer there or a message is no line of text, internal for what the
// network or the server did.
package nats
