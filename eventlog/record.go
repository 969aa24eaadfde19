package eventlog

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/noregret/noregret"
)

// The layout of a record; DESIGN.md has the table. All numbers are little-endian.
//
//	0  magic     "NRE1"
//	4  length    uint32, of the whole record
//	8  sum       uint32, CRC-32C of all other bytes
//	12 previous  uint32, sum of the record before
//	16 position  uint64
//	24 time      int64
//	32 n, kind   a byte and n bytes
//	   payload   the rest
const (
	recordMagic  = "NRE1"
	recordHeader = 33 // without kind and payload
	maxKind      = 64
	maxRecord    = recordHeader + maxKind + maxPayload
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkKind returns the rule that kind breaks, or "".
func checkKind(kind string) string {
	if kind == "" || len(kind) > maxKind {
		return "it must have 1 to 64 bytes"
	}
	for i := range len(kind) {
		c := kind[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' &&
			c != '/' {
			return "it must consist of letters, digits and . _ - /"
		}
	}
	return ""
}

// recordSize returns the encoded size of an event.
func recordSize(e Event) int { return recordHeader + len(e.Kind) + len(e.Payload) }

// encodeRecord writes r into buf, which has recordSize bytes, and returns its sum.
func encodeRecord(buf []byte, r Record, previous uint32) uint32 {
	copy(buf, recordMagic)
	binary.LittleEndian.PutUint32(buf[4:], uint32(len(buf)))
	binary.LittleEndian.PutUint32(buf[12:], previous)
	binary.LittleEndian.PutUint64(buf[16:], r.Position)
	binary.LittleEndian.PutUint64(buf[24:], uint64(r.Time))
	buf[32] = byte(len(r.Kind))
	n := copy(buf[recordHeader:], r.Kind)
	copy(buf[recordHeader+n:], r.Payload)
	sum := recordSum(buf)
	binary.LittleEndian.PutUint32(buf[8:], sum)
	return sum
}

// recordSum returns the checksum of an encoded record.
func recordSum(data []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, data[:8]), castagnoli, data[12:])
}

// link chains a record to its neighbours.
type link struct {
	position      uint64
	previous, sum uint32
}

// decodeRecord decodes a record. Kind and payload are copies. problem is "" if the record is
// intact.
func decodeRecord(data []byte) (r Record, l link, problem string) {
	switch {
	case len(data) < recordHeader:
		return r, l, "truncated"
	case string(data[:4]) != recordMagic:
		return r, l, "does not begin with " + recordMagic
	case binary.LittleEndian.Uint32(data[4:]) != uint32(len(data)):
		return r, l, "its length field is wrong"
	case recordSum(data) != binary.LittleEndian.Uint32(data[8:]):
		return r, l, "its checksum is wrong"
	}
	n := recordHeader + int(data[32])
	if n > len(data) || checkKind(string(data[recordHeader:n])) != "" {
		return r, l, "its kind is malformed"
	}
	l = link{
		position: binary.LittleEndian.Uint64(data[16:]),
		previous: binary.LittleEndian.Uint32(data[12:]),
		sum:      binary.LittleEndian.Uint32(data[8:]),
	}
	r = Record{Position: l.position, Event: Event{
		Kind:    string(data[recordHeader:n]),
		Time:    int64(binary.LittleEndian.Uint64(data[24:])),
		Payload: append([]byte{}, data[n:]...),
	}}
	return r, l, ""
}

// wholeRecord returns the length of the intact record at the start of data, or 0. The salvage uses
// it to find records in the bytes of a damaged file.
func wholeRecord(data []byte) int {
	if len(data) < recordHeader || string(data[:4]) != recordMagic {
		return 0
	}
	n := int64(binary.LittleEndian.Uint32(data[4:]))
	if n < recordHeader || n > maxRecord || n > int64(len(data)) {
		return 0
	}
	if _, _, problem := decodeRecord(data[:n]); problem != "" {
		return 0
	}
	return int(n)
}

// The keys of the store: one for the base, and for each event 'e' and the position, big-endian, so
// that keys sort like positions.
var baseKey = []byte("base")

const eventPrefix = 'e'

func eventKey(position uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{eventPrefix}, position)
}

// keyPosition returns the position in an event's key.
func keyPosition(key []byte) (uint64, bool) {
	if len(key) != 9 || key[0] != eventPrefix {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), true
}

// mark is a position with the checksum of its record: the base of the log, or the last acknowledged
// position.
type mark struct {
	position uint64
	sum      uint32
}

const (
	baseMagic = "NRB1"
	markMagic = "NRM1"
	markBytes = 20
)

// encodeMark returns magic, position, sum and the CRC-32C of these.
func encodeMark(magic string, m mark) []byte {
	b := make([]byte, 0, markBytes)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint64(b, m.position)
	b = binary.LittleEndian.AppendUint32(b, m.sum)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeMark(magic string, b []byte) (mark, bool) {
	if len(b) != markBytes || string(b[:4]) != magic ||
		crc32.Checksum(b[:markBytes-4], castagnoli) != binary.LittleEndian.Uint32(b[markBytes-4:]) {
		return mark{}, false
	}
	return mark{binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint32(b[12:])}, true
}

// CheckEvents returns the size of the events of one Append as records on a disk, in bytes, or an
// error of code usage that names the first bound or rule that they break. Implementations of [Log]
// call it.
func (o Options) CheckEvents(events []Event) (int, error) {
	if len(events) == 0 || len(events) > o.GroupEvents {
		return 0, noregret.Errorf(noregret.Usage, "append", "%d events: 1 to %d are allowed (Options.GroupEvents)",
			len(events), o.GroupEvents)
	}
	size := 0
	for i, e := range events {
		if why := checkKind(e.Kind); why != "" {
			return 0, noregret.Errorf(noregret.Usage, "append", "event %d: kind %.80q: %s", i, e.Kind, why)
		}
		if len(e.Payload) > o.MaxEventBytes {
			return 0, noregret.Errorf(noregret.Usage, "append",
				"event %d: the payload has %d bytes: at most %d are allowed (Options.MaxEventBytes)",
				i, len(e.Payload), o.MaxEventBytes)
		}
		size += recordSize(e)
	}
	if size > o.GroupBytes {
		return 0, noregret.Errorf(noregret.Usage, "append",
			"the %d events have %d bytes: at most %d are allowed (Options.GroupBytes); split them",
			len(events), size, o.GroupBytes)
	}
	return size, nil
}
