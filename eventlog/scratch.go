package eventlog

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ScratchFile is a file whose content means nothing after the process has ended.
type ScratchFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// CreateScratch makes an empty file on fs (nil: the machine's disk), in place of one that is there.
func CreateScratch(fs FS, path string) (ScratchFile, error) {
	return disk(fs).Create(path, vfs.WriteCategoryUnspecified)
}

// RemoveScratch removes a scratch file.
func RemoveScratch(fs FS, path string) error { return disk(fs).Remove(path) }
