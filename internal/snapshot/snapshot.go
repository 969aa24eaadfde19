// Package snapshot writes the state of a learner as bytes and reads it back.
//
// A snapshot is a magic line, whose digit is the version; the kind (the learner and its options as
// text); the layout of the state's type and the state, in the encoding below; and the SHA-256 of
// all that. It holds the state, not the options: it is restored into a learner made with the same
// options, which the kind checks.
//
// The encoding is canonical: equal states have equal bytes on every machine and in every process,
// whatever the process has encoded before. It follows the exported fields of the state by
// reflection, in the order of their declaration, and has neither their names nor their kinds. The
// layout stands for both: a state with other fields is refused.
//
// docs/formats/snapshot.md describes the bytes.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/noregret/noregret"
)

// version ends the magic lines.
const version = "-2\n"

// Seal writes a snapshot of state. The magic line ends with "-2\n". It is an error if the state
// holds a value that cannot be encoded, such as a function, or an interface whose type is not
// registered.
func Seal(magic, kind string, state any) ([]byte, error) {
	if !strings.HasSuffix(magic, version) {
		return nil, noregret.Errorf(noregret.Internal, "snapshot", "magic %q does not end with %q", magic, version)
	}
	e := encoder{b: []byte(magic)}
	e.text(kind)
	if err := e.encode(state); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(e.b)
	return append(e.b, sum[:]...), nil
}

// Open reads a snapshot into state, a pointer to a zero value. It refuses one that is damaged, or
// of another version, learner or set of options. State may be half-written on error: open into a
// copy and check it before use.
func Open(data []byte, magic, kind string, state any) error {
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		line, _, _ := bytes.Cut(data[:min(len(data), 2*len(magic))], []byte("\n"))
		return Bad("begins with %q: want %q", line, strings.TrimSuffix(magic, "\n"))
	}
	end := len(data) - sha256.Size
	if end < len(data)-len(rest) {
		return Bad("damaged: it has %d bytes", len(data))
	}
	if sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return Bad("damaged: its checksum is wrong")
	}
	return decodeState(rest[:len(rest)-sha256.Size], kind, state)
}

// decodeState reads the kind and the state of a snapshot.
func decodeState(data []byte, kind string, state any) error {
	d := newDecoder(data)
	of, err := d.text()
	if err != nil {
		return Bad("damaged: %w", err)
	}
	if of != kind {
		return Bad("it was taken from %q, this learner is %q", of, kind)
	}
	if err := d.decode(state); err != nil {
		return Bad("damaged: %w", err)
	}
	return nil
}

// Bad is the error for a snapshot that is refused.
func Bad(format string, args ...any) error {
	return noregret.BadInputf("snapshot", format, args...)
}
