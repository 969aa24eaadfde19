package dataset

import (
	"errors"
	"io"
)

// OpenFile opens a file for reading, or stdin for the name "-". Input compressed by gzip or zstd,
// which is recognised by its first bytes, is decompressed. It is for readers of other data than
// examples. Errors have the codes not_found, bad_input or internal, and the name as their place.
func OpenFile(name string, stdin io.Reader) (io.ReadCloser, error) {
	in, err := openInput(name, stdin)
	if err != nil {
		return nil, err
	}
	return opened{in}, nil
}

// opened is an input as an io.ReadCloser.
type opened struct{ in *input }

func (o opened) Read(p []byte) (int, error) {
	n, err := o.in.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = o.in.readError(err)
	}
	return n, err
}

func (o opened) Close() error { return o.in.close() }
