package main

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
)

// positionFormat is the format of the file of a position.
const positionFormat = "noregret-position-1"

// position says where to go on in a source.
type position struct {
	Format string `json:"format"`
	Source string `json:"source"` // the address, without a password
	// The number of the first message that was not written: of a stream, or of each partition.
	Next    uint64  `json:"next,omitempty"`
	Offsets []int64 `json:"offsets,omitempty"`
}

// readPosition returns the position to go on at, or a zero one if there is no file yet. It is one
// in partitions, or one in a stream.
func readPosition(path, source string, partitions bool) (p position, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return position{}, nil
	}
	if err != nil {
		return p, noregret.Errorf(noregret.Internal, path, "the position cannot be read: %w", err)
	}
	if err := strictjson.Decode(b, &p, strictjson.Rules{}); err != nil {
		return p, noregret.BadInputf(path, "no position: %w", err)
	}
	switch {
	case p.Format != positionFormat:
		return p, noregret.BadInputf(path, "the format is %q, and %q is read", p.Format, positionFormat)
	case p.Source != source:
		return p, noregret.BadInputf(path, "the position is one in %s, not in %s: name another file", p.Source, source)
	case partitions && (p.Next != 0 || len(p.Offsets) == 0):
		return p, noregret.BadInputf(path, "no position: \"offsets\" has the number of a message for each partition")
	case !partitions && (p.Next == 0 || p.Offsets != nil):
		return p, noregret.BadInputf(path, "no position: \"next\" is the number of a message, from 1")
	}
	return p, nil
}

// writePosition replaces the file of a position.
func writePosition(path string, p position) error {
	p.Format = positionFormat
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(path, append(b, '\n')); err != nil {
		return noregret.Errorf(noregret.Internal, path, "the position cannot be written: %w", err)
	}
	return nil
}
