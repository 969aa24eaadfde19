package dataset

import (
	"bytes"
	"errors"
	"hash"
	"io"

	"github.com/noregret/noregret"
)

// textSource divides text inputs into chunks of whole lines. The division depends only on the bytes
// and the chunk size, except for live inputs: of these it takes the available bytes as soon as they
// contain a line.
type textSource struct {
	opt    *Options
	format Format // of all inputs
	inputs []string
	next   int    // the input after the current one
	cur    *input // nil: open the next one
	digest hash.Hash
	csv    *csvPlanner  // nil unless the format is CSV
	json   *jsonPlanner // nil unless the format is JSONL
	plan   *csvPlan     // CSV, JSONL: of the current input
	quote  quoteState   // CSV: at the start of carry
	carry  []byte       // the beginning of a line whose end has not been read
	line   int64        // number of the next line
	ended  bool         // the end of the current input has been read
	before int64        // stored bytes of the inputs before the current one
}

const byteOrderMark = "\xef\xbb\xbf"

// open sets the current input to in. It skips a byte order mark and, in CSV, plans the columns.
func (s *textSource) open(in *input) error {
	s.cur, s.line, s.ended = in, 1, false
	s.carry, s.quote = s.carry[:0], quoteState{}
	var plan *csvPlan
	var planErr error
	decide := func(head []byte, partial, whole bool) bool {
		if len(head) < len(byteOrderMark) && partial {
			return false
		}
		if s.csv != nil {
			s.csv.partial = partial
			plan, planErr = s.csv.plan(in.name, bytes.TrimPrefix(head, []byte(byteOrderMark)), whole)
		}
		if s.json != nil {
			plan, planErr = s.json.plan(in.name, bytes.TrimPrefix(head, []byte(byteOrderMark)), partial)
		}
		return planErr != errPlanLater
	}
	decided := false
	head, whole := in.peek(func(head []byte) bool {
		decided = decide(head, true, false)
		return decided
	})
	if !decided {
		decide(head, false, whole)
	}
	skip := 0
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		skip = len(byteOrderMark)
	}
	if planErr != nil {
		return planErr
	}
	s.plan = plan
	if s.csv != nil {
		s.quote.delim, s.quote.plain = plan.delim, s.opt.plainLines()
		s.line += int64(bytes.Count(head[skip:skip+plan.skip], []byte("\n")))
		skip += plan.skip
	}
	_, _ = s.digest.Write(head[:skip]) // a hash never fails
	_, err := in.r.Discard(skip)
	return err
}

func (s *textSource) close() error {
	if s.cur == nil {
		return nil
	}
	err := s.cur.close()
	s.cur = nil
	return err
}

// fill implements source.
func (s *textSource) fill(c *chunk) error {
	for {
		if s.cur == nil {
			if s.next == len(s.inputs) {
				return io.EOF
			}
			in, err := openInput(s.inputs[s.next], s.opt.Stdin)
			if err != nil {
				return err
			}
			s.next++
			if err := s.opt.checkFormat(in, s.format, s.inputs[0]); err != nil {
				_ = in.close() // only read
				return err
			}
			if err := s.open(in); err != nil {
				return err
			}
		}
		if !s.ended {
			if err := s.fillFrom(c); err != nil {
				return err
			}
			if len(c.data) > 0 {
				return nil
			}
		}
		s.before += s.cur.raw.n.Load()
		if err := s.close(); err != nil {
			return noregret.Errorf(noregret.Internal, s.inputs[s.next-1], "close failed: %w", err)
		}
	}
}

// fillFrom fills c with whole lines of the current input, or with none at its end.
func (s *textSource) fillFrom(c *chunk) error {
	buf := append(c.data[:0], s.carry...)
	s.carry = s.carry[:0]
	size := max(s.opt.chunkBytes, len(buf)+1)
	scanned, q, cut := 0, s.quote, 0
	live := s.cur.live && !s.opt.loaded
	for cut == 0 && !s.ended {
		if size > s.opt.lineLimit {
			return noregret.BadInputf(place(s.cur.name, s.line),
				"the line is longer than %d bytes; is a quote left open, or is it not a text file?", s.opt.lineLimit)
		}
		var err error
		if buf, err = s.readUpTo(buf, size, live); err != nil {
			return err
		}
		if s.csv == nil {
			cut = scanned + bytes.LastIndexByte(buf[scanned:], '\n') + 1
			if cut == scanned {
				cut = 0
			}
		} else if n := q.lastLine(buf[scanned:]); n > 0 {
			cut = scanned + n
		}
		scanned = len(buf)
		size = max(size, 2*len(buf))
	}
	if s.ended {
		cut = len(buf)
	}
	s.carry = append(s.carry, buf[cut:]...)
	c.data, c.file, c.line, c.plan = buf[:cut], s.cur.name, s.line, s.plan
	c.read = s.before + s.cur.raw.n.Load()
	s.line += int64(bytes.Count(c.data, []byte("\n")))
	s.quote = quoteState{delim: q.delim, plain: q.plain} // a cut is always between lines
	return nil
}

// readUpTo reads until buf holds size bytes or the input ends; if some is set, only the available
// bytes.
func (s *textSource) readUpTo(buf []byte, size int, some bool) ([]byte, error) {
	have := len(buf)
	if cap(buf) < size+len(padding) {
		buf = append(make([]byte, 0, size+len(padding)), buf...)
	}
	least := size - have
	if some {
		least = 1
	}
	n, err := io.ReadAtLeast(s.cur, buf[have:size], least)
	buf = buf[:have+n]
	_, _ = s.digest.Write(buf[have:])
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) || err == io.ErrUnexpectedEOF && s.atEnd():
		s.ended = true
	default:
		return buf, s.cur.readError(err)
	}
	return buf, nil
}

// atEnd distinguishes the end of the input from a truncated compressed stream, for which
// io.ReadAtLeast returns the same error: only at a true end does a further read return io.EOF.
func (s *textSource) atEnd() bool {
	_, err := s.cur.r.ReadByte()
	return err == io.EOF
}
