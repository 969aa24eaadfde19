// Package snapshot seals the state of a learner into bytes and opens it again.
//
// A snapshot is a magic line, whose digit is the version; two gobs, of the kind (the learner and
// its options as text) and of the state; and the SHA-256 of all that. It holds the state, not the
// options: it is restored into a learner made with the same options, which the kind is there to
// check. A state without maps has the same bytes every time within a process; gob's numbers for
// types depend on what a process has encoded before.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"

	"github.com/noregret/noregret"
)

// Seal writes a snapshot of state.
func Seal(magic, kind string, state any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(magic)
	e := gob.NewEncoder(&b)
	if err := e.Encode(kind); err != nil {
		return nil, err
	}
	if err := e.Encode(state); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b.Bytes())
	return append(b.Bytes(), sum[:]...), nil
}

// Open reads a snapshot into state. It refuses one that is damaged, or of another version, learner
// or set of options. State may be half-written on error: open into a copy and check it before use.
func Open(data []byte, magic, kind string, state any) error {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		return Bad("it does not begin with %q", magic)
	}
	end := len(data) - sha256.Size
	if end < len(magic) {
		return Bad("it is damaged: it has %d bytes", len(data))
	}
	if sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return Bad("it is damaged: its checksum is wrong")
	}
	d, of := gob.NewDecoder(bytes.NewReader(rest[:len(rest)-sha256.Size])), ""
	if err := d.Decode(&of); err != nil {
		return Bad("it is damaged: %w", err)
	}
	if of != kind {
		return Bad("it was taken of %q, this learner is %q", of, kind)
	}
	if err := d.Decode(state); err != nil {
		return Bad("it is damaged: %w", err)
	}
	return nil
}

// Bad is the error for a snapshot that is refused.
func Bad(format string, args ...any) error {
	return noregret.BadInputf("snapshot", format, args...)
}
