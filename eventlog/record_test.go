package eventlog

import (
	"bytes"
	"testing"
)

// Decoding returns a record or a reason, and an intact record is encoded to the same bytes again.
func FuzzRecord(f *testing.F) {
	for _, p := range payloads[:4] {
		e := Event{Kind: "k", Time: -1, Payload: []byte(p)}
		buf := make([]byte, recordSize(e))
		encodeRecord(buf, Record{7, e}, 99)
		f.Add(buf, true)
	}
	f.Fuzz(func(t *testing.T, data []byte, mend bool) {
		if mend && len(data) >= recordHeader { // else most inputs fail at the checksum
			copy(data, recordMagic)
			data[4], data[5], data[6], data[7] = byte(len(data)), byte(len(data)>>8), byte(len(data)>>16),
				byte(len(data)>>24)
			sum := recordSum(data)
			data[8], data[9], data[10], data[11] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		r, l, problem := decodeRecord(data)
		if (problem == "") != (wholeRecord(data) == len(data) && len(data) > 0) && len(data) <= maxRecord {
			t.Fatalf("decoding says %q, the salvage finds %d of %d bytes", problem, wholeRecord(data), len(data))
		}
		if problem != "" {
			return
		}
		buf := make([]byte, recordSize(r.Event))
		if sum := encodeRecord(buf, r, l.previous); sum != l.sum || !bytes.Equal(buf, data) {
			t.Fatalf("%x is encoded as %x", data, buf)
		}
		v := salvage{pieces: map[uint64][]piece{}}
		v.scan("f", 1, append([]byte("NRNRE1"), data...))
		if p := v.pieces[r.Position]; len(p) != 1 || p[0].offset != 6 || p[0].link != l {
			t.Fatalf("the salvage found %+v", v.pieces)
		}
		for i := range 8 * min(len(data), 40) {
			data[i/8] ^= 1 << (i % 8)
			if _, _, problem := decodeRecord(data); problem == "" {
				t.Fatalf("the flip of bit %d was not detected", i)
			}
			data[i/8] ^= 1 << (i % 8)
		}
	})
}
