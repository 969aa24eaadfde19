// Package kafka reads the messages of a topic of Kafka as lines of text.
//
// [Copy] writes each message as one line and says from time to time at which message of each
// partition to go on: a program that keeps these numbers loses no message when it ends in any way,
// and may repeat those after the last numbers. It joins no group of consumers and changes nothing
// on the brokers. Messages of transactions that were aborted are not written.
//
// # Order
//
// A partition has an order, a topic has none. Copy works in passes. At the begin of a pass it asks
// where each partition ends, and then writes all messages before these ends: always the one with
// the earliest time among the next ones of all partitions, or of two with the same time that of the
// partition with the smaller number. So the order of each partition is kept, and what is in the
// topic and the positions at the begin determine the output of a pass, whatever the brokers answer
// first.
//
// Errors have the address as their place: not_found if there is no such topic, bad_input if the
// messages to go on at are no longer there or a message is no line of text, internal for what the
// network or a broker did.
package kafka
