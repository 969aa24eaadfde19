package parquet

import (
	"bytes"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// unpack unpacks the content of a page into size bytes, and never into more.
func unpack(codec format.CompressionCodec, b []byte, size int) ([]byte, error) {
	switch codec {
	case format.Snappy:
		n, err := snappy.DecodedLen(b)
		if err != nil {
			return nil, err
		}
		if n != size {
			return nil, fmt.Errorf("a page unpacks to %d bytes instead of %d", n, size)
		}
		return snappy.Decode(nil, b)
	case format.Lz4Raw:
		out := make([]byte, size)
		n, err := lz4.UncompressBlock(b, out)
		return out[:max(n, 0)], err
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return readAtMost(r, size)
	case format.Brotli:
		return readAtMost(brotli.NewReader(bytes.NewReader(b)), size)
	case format.Zstd:
		r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return readAtMost(r, size)
	}
	return nil, fmt.Errorf("the compression %s is not read", codec)
}

// readAtMost reads to the end of r, and one byte more than size at most.
func readAtMost(r io.Reader, size int) ([]byte, error) {
	out := make([]byte, size)
	n, err := io.ReadFull(r, out)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return out[:n], nil
	}
	if err != nil {
		return nil, err
	}
	if k, err := io.ReadFull(r, make([]byte, 1)); k > 0 {
		return nil, fmt.Errorf("a page unpacks to more than %d bytes", size)
	} else if err != io.EOF {
		return nil, err
	}
	return out, nil
}
