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
	Next   uint64 `json:"next"`   // the number of the first message that was not written
}

// readPosition returns the number of the message to go on at, or 0 if there is no file yet.
func readPosition(path, source string) (uint64, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, noregret.Errorf(noregret.Internal, path, "the position cannot be read: %w", err)
	}
	var p position
	if err := strictjson.Decode(b, &p, strictjson.Rules{}); err != nil {
		return 0, noregret.BadInputf(path, "no position: %w", err)
	}
	switch {
	case p.Format != positionFormat:
		return 0, noregret.BadInputf(path, "the format is %q, and %q is read", p.Format, positionFormat)
	case p.Source != source:
		return 0, noregret.BadInputf(path, "the position is one in %s, not in %s: name another file", p.Source, source)
	case p.Next == 0:
		return 0, noregret.BadInputf(path, "the position is 0, and messages are numbered from 1")
	}
	return p.Next, nil
}

// writePosition replaces the file of a position.
func writePosition(path, source string, next uint64) error {
	b, err := json.Marshal(position{positionFormat, source, next})
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(path, append(b, '\n')); err != nil {
		return noregret.Errorf(noregret.Internal, path, "the position cannot be written: %w", err)
	}
	return nil
}
