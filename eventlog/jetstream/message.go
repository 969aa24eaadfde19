package jetstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/noregret/noregret/eventlog"
)

// A message holds a group of events, which are thereby stored all or none:
//
//	magic    "NRJ1", the version of the format
//	first    uint64, the position of the first event
//	count    uint32, the number of events, at least 1
//	previous uint32, the checksum of the message before, 0 in the first one
//	events   of each: uint8 length of the kind, the kind, int64 time, uint32 length of the payload, the payload
//	sum      uint32, the CRC-32C of all bytes before
//
// Numbers are little-endian. As each message names the checksum of the one before, a message says
// which log it belongs to: what was lost, rewritten or cut off before it is noticed.
const (
	magic       = "NRJ1"
	headerBytes = 20
	sumBytes    = 4
	eventBytes  = 13 // beside the kind and the payload
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// point is an end of the log: the last position, the sequence number of its message in the stream,
// and that message's checksum. The zero value is the beginning.
type point struct {
	position uint64
	sequence uint64
	sum      uint32
}

// message is a message of the stream.
type message struct {
	sequence uint64
	first    uint64 // the position of the first event
	previous uint32
	sum      uint32
	data     []byte // as it is stored
	events   []eventlog.Event
}

// last returns the position of the last event.
func (m *message) last() uint64 { return m.first + uint64(len(m.events)) - 1 }

// end returns the end of a log that ends with the message.
func (m *message) end() point { return point{m.last(), m.sequence, m.sum} }

// follows reports whether the message belongs behind a log's end.
func (m *message) follows(p point) bool {
	return m.sequence == p.sequence+1 && m.first == p.position+1 && m.previous == p.sum
}

// encode makes the message that holds events behind a log's end. It copies their payloads.
func encode(after point, events []eventlog.Event) *message {
	size := headerBytes + sumBytes
	for _, e := range events {
		size += eventBytes + len(e.Kind) + len(e.Payload)
	}
	m := &message{sequence: after.sequence + 1, first: after.position + 1, previous: after.sum}
	b := make([]byte, 0, size)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint64(b, m.first)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(events)))
	b = binary.LittleEndian.AppendUint32(b, m.previous)
	for _, e := range events {
		b = append(b, byte(len(e.Kind)))
		b = append(b, e.Kind...)
		b = binary.LittleEndian.AppendUint64(b, uint64(e.Time))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Payload)))
		at := len(b)
		b = append(b, e.Payload...)
		m.events = append(m.events, eventlog.Event{Kind: e.Kind, Time: e.Time, Payload: b[at:len(b):len(b)]})
	}
	m.sum = crc32.Checksum(b, castagnoli)
	m.data = binary.LittleEndian.AppendUint32(b, m.sum)
	return m
}

// decode reads a message. Its events share the memory of the data.
func decode(sequence uint64, data []byte) (*message, error) {
	switch {
	case len(data) < headerBytes+sumBytes || string(data[:3]) != magic[:3]:
		return nil, errors.New("it is not a message of a log of noregret")
	case string(data[:4]) != magic:
		return nil, fmt.Errorf("its format is %q, that of a newer version: this one reads %q", data[:4], magic)
	}
	body := data[:len(data)-sumBytes]
	m := &message{
		sequence: sequence, data: data,
		first:    binary.LittleEndian.Uint64(data[4:]),
		previous: binary.LittleEndian.Uint32(data[16:]),
		sum:      binary.LittleEndian.Uint32(data[len(body):]),
	}
	if crc32.Checksum(body, castagnoli) != m.sum {
		return nil, errors.New("its checksum is wrong")
	}
	count, rest := binary.LittleEndian.Uint32(data[12:]), body[headerBytes:]
	for range count {
		kind, more := field(rest, 1)
		if len(more) < 12 {
			return nil, errors.New("its events are cut off")
		}
		time := binary.LittleEndian.Uint64(more)
		payload, end := field(more[8:], 4)
		if end == nil {
			return nil, errors.New("its events are cut off")
		}
		m.events = append(m.events, eventlog.Event{Kind: string(kind), Time: int64(time), Payload: payload})
		rest = end
	}
	if count == 0 || len(rest) > 0 || m.first == 0 || m.last() < m.first {
		return nil, fmt.Errorf("it claims %d events from position %d on", count, m.first)
	}
	return m, nil
}

// field splits off bytes that follow their length, which has the given size. The rest is nil if
// they are cut off.
func field(b []byte, size int) (value, rest []byte) {
	if len(b) < size {
		return nil, nil
	}
	n := uint64(b[0])
	if size == 4 {
		n = uint64(binary.LittleEndian.Uint32(b))
	}
	if uint64(len(b)-size) < n {
		return nil, nil
	}
	end := size + int(n)
	return b[size:end:end], b[end:len(b):len(b)]
}

// record returns a copy of the event at a position of the message.
func (m *message) record(position uint64) eventlog.Record {
	e := m.events[position-m.first]
	e.Payload = append([]byte{}, e.Payload...)
	return eventlog.Record{Position: position, Event: e}
}

// same reports whether two events are the same.
func same(a, b eventlog.Event) bool {
	return a.Kind == b.Kind && a.Time == b.Time && bytes.Equal(a.Payload, b.Payload)
}
