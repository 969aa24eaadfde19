package command

import (
	"context"
	"io"
)

// cancelReader reads from a stream that may never end, such as a pipe, until ctx ends. A read that
// hangs then stays in its goroutine until the process ends.
type cancelReader struct {
	ctx     context.Context
	src     io.Reader
	pieces  chan piece
	free    chan []byte
	cur     piece
	rest    []byte // of cur, not yet handed out
	started bool
}

// piece is the result of one read.
type piece struct {
	buf []byte // all of the buffer
	n   int
	err error
}

func newCancelReader(ctx context.Context, src io.Reader) *cancelReader {
	return &cancelReader{ctx: ctx, src: src, pieces: make(chan piece), free: make(chan []byte, 2)}
}

// Read implements io.Reader.
func (c *cancelReader) Read(p []byte) (int, error) {
	if !c.started {
		c.started = true
		const size = 256 << 10
		c.free <- make([]byte, size)
		c.free <- make([]byte, size)
		go c.pump()
	}
	for len(c.rest) == 0 {
		if c.cur.err != nil {
			return 0, c.cur.err
		}
		if c.cur.buf != nil {
			c.free <- c.cur.buf
			c.cur.buf = nil
		}
		select {
		case c.cur = <-c.pieces:
			c.rest = c.cur.buf[:c.cur.n]
		case <-c.ctx.Done():
			return 0, c.ctx.Err()
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// pump reads ahead by at most two pieces.
func (c *cancelReader) pump() {
	for {
		var p piece
		select {
		case p.buf = <-c.free:
		case <-c.ctx.Done():
			return
		}
		p.n, p.err = c.src.Read(p.buf)
		select {
		case c.pieces <- p:
		case <-c.ctx.Done():
			return
		}
		if p.err != nil {
			return
		}
	}
}
