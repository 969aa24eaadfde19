package dataset

import (
	"context"
	"errors"
	"io"
	"sync"
)

// chunk is a piece of the input in the pipeline: the reading goroutine fills it, a worker parses
// it, the consumer takes it in the order of the input, and then it is filled again.
type chunk struct {
	file  string   // name of the input
	data  []byte   // whole lines, or whole rows of an IDX file
	line  int64    // number of the first line (of the first row, in IDX), from 1
	plan  *csvPlan // CSV: the columns of this file
	class []byte   // IDX: the labels of the rows, or nil
	width int      // IDX: bytes per row
	read  int64    // bytes of the stored inputs that were read so far
	err   error    // nothing to parse: the end of the input or a failed read

	result
	done chan struct{} // capacity 1; receives when the result is complete
}

// source divides the inputs into chunks. Only the reading goroutine uses it.
type source interface {
	// fill makes the next chunk. It returns io.EOF after the last one.
	fill(c *chunk) error
	close() error
}

// parser parses the data of a chunk into its result. Every worker has its own.
type parser interface{ parse(c *chunk) }

// pipeline runs one source and several parsers over a fixed number of chunks.
type pipeline struct {
	ctx    context.Context
	cancel context.CancelFunc
	free   chan *chunk // empty chunks
	jobs   chan *chunk // filled chunks, for any worker
	order  chan *chunk // the same chunks in the order of the input, for the consumer
	wg     sync.WaitGroup
}

func startPipeline(ctx context.Context, src source, newParser func() parser, workers int) *pipeline {
	ctx, cancel := context.WithCancel(ctx)
	n := workers + 2
	p := &pipeline{
		ctx: ctx, cancel: cancel,
		free:  make(chan *chunk, n),
		jobs:  make(chan *chunk, n),
		order: make(chan *chunk, n),
	}
	for range n {
		p.free <- &chunk{done: make(chan struct{}, 1)}
	}
	p.wg.Add(workers + 1)
	go p.read(src)
	for range workers {
		go func() {
			defer p.wg.Done()
			w := newParser()
			for c := range p.jobs {
				if p.ctx.Err() == nil {
					c.reset()
					w.parse(c)
				}
				c.done <- struct{}{}
			}
		}()
	}
	return p
}

// read is the reading goroutine. The channels have room for all chunks, so it blocks only when it
// takes a free one.
func (p *pipeline) read(src source) {
	defer p.wg.Done()
	defer close(p.jobs)
	defer func() { _ = src.close() }() // the files were only read
	for {
		select {
		case <-p.ctx.Done():
			return
		case c := <-p.free:
			c.class, c.plan = nil, nil
			c.err = src.fill(c)
			p.order <- c
			if c.err != nil {
				c.reset()
				c.done <- struct{}{}
				return
			}
			p.jobs <- c
		}
	}
}

// next returns the next chunk in the order of the input, parsed.
func (p *pipeline) next() (*chunk, error) {
	var c *chunk
	select {
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	case c = <-p.order:
	}
	select {
	case <-p.ctx.Done():
		return nil, p.ctx.Err()
	case <-c.done:
	}
	if err := p.ctx.Err(); err != nil { // the worker may have skipped the chunk
		return nil, err
	}
	if c.err != nil && !errors.Is(c.err, io.EOF) {
		return nil, c.err
	}
	return c, c.err
}

// release returns a chunk to the reading goroutine.
func (p *pipeline) release(c *chunk) { p.free <- c }

// close stops the goroutines. It waits for them unless wait is false, as the reader may be blocked
// in a read of standard input that cannot be interrupted.
func (p *pipeline) close(wait bool) {
	p.cancel()
	if wait {
		p.wg.Wait()
	}
}
