package eventlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// Export writes events as JSON lines, one an event:
//
//	{"position":1,"kind":"feedback","time":1700000000000000000,"payload":{"click":1}}
//	{"position":2,"kind":"blob","time":1700000000000000001,"base64":"AAEC"}
//
// A payload that is compact JSON in valid UTF-8 is written unchanged, so that other programs can
// read it. Any other payload, including JSON with white space between its tokens, is written in
// base64. So [Import] restores every byte. events comes from Read. Export returns the number of
// events written.
func Export(w io.Writer, events iter.Seq2[Record, error]) (n uint64, err error) {
	b := bufio.NewWriter(w)
	var line []byte
	for r, err := range events {
		if err != nil {
			return n, errors.Join(err, b.Flush())
		}
		line = appendLine(line[:0], r)
		if _, err := b.Write(line); err != nil {
			return n, err
		}
		n++
	}
	return n, b.Flush()
}

func appendLine(line []byte, r Record) []byte {
	line = append(line, `{"position":`...)
	line = strconv.AppendUint(line, r.Position, 10)
	line = append(line, `,"kind":"`...)
	line = append(line, r.Kind...) // nothing in a kind needs quoting
	line = append(line, `","time":`...)
	line = strconv.AppendInt(line, r.Time, 10)
	if compactJSON(r.Payload) {
		line = append(line, `,"payload":`...)
		line = append(line, r.Payload...)
	} else {
		line = append(line, `,"base64":"`...)
		line = base64.StdEncoding.AppendEncode(line, r.Payload)
		line = append(line, '"')
	}
	return append(line, "}\n"...)
}

// compactJSON reports whether the payload is one JSON value that compacting does not change.
func compactJSON(payload []byte) bool {
	if !utf8.Valid(payload) || !json.Valid(payload) {
		return false
	}
	var b bytes.Buffer
	return json.Compact(&b, payload) == nil && bytes.Equal(b.Bytes(), payload)
}

// line is a line of an export.
type line struct {
	Position *uint64         `json:"position"`
	Kind     *string         `json:"kind"`
	Time     *int64          `json:"time"`
	Payload  json.RawMessage `json:"payload"`
	Base64   *string         `json:"base64"`
}

const maxLine = maxPayload/3*4 + 1024

// Import appends the events of an export to a log and returns the number of events appended. Each
// event keeps its position: an export that begins at 1 needs an empty log, or one that has its
// first events already. So an import that was interrupted is repeated with the same file: what the
// log has is compared, and appended is what follows. Import never appends behind other events. An
// error names file and line (name is the name of the file); the events before it are in the log.
func Import(ctx context.Context, log Log, name string, r io.Reader) (n uint64, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	to := newCopier(log)
	place := func(number int) string { return fmt.Sprintf("%s:%d", name, number) }
	// flush appends the lines before one that was read.
	flush := func(number int) error {
		first := number - len(to.batch)
		err := to.flush(ctx)
		if errors.Is(err, ErrFenced) {
			return noregret.BadInputf(place(first), "%w", err)
		}
		return err
	}
	for number := 1; ; number++ {
		text, err := readLine(in)
		if err == io.EOF {
			err = flush(number)
			return to.n, err
		}
		rec := Record{}
		if err == nil {
			rec, err = parseLine(text)
		}
		if err == nil && !to.follows(rec.Position) {
			err = fmt.Errorf("position %d: it must be %d, as positions continue those of the log and of the lines "+
				"before", rec.Position, to.next)
		}
		if err != nil {
			err = errors.Join(flush(number), noregret.BadInputf(place(number), "%w", err))
			return to.n, err
		}
		if to.full(rec.Event) {
			if err := flush(number); err != nil {
				return to.n, err
			}
		}
		to.add(rec.Event)
	}
}

// ExportStart returns the position of the first event of an export, 0 if it has none, and a reader
// of the whole export.
func ExportStart(name string, r io.Reader) (position uint64, whole io.Reader, err error) {
	in := bufio.NewReader(r)
	text, err := readLine(in)
	if err == io.EOF {
		return 0, in, nil
	}
	if err != nil {
		return 0, nil, noregret.BadInputf(name+":1", "%w", err)
	}
	rec, err := parseLine(text)
	if err != nil {
		return 0, nil, noregret.BadInputf(name+":1", "%w", err)
	}
	return rec.Position, io.MultiReader(bytes.NewReader(append(text, '\n')), in), nil
}

// readLine returns the next line without its newline, which the last line may lack.
func readLine(in *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := in.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case len(out) > maxLine:
			return nil, fmt.Errorf("the line has more than %d bytes", maxLine)
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(out) > 0, err == nil:
			return bytes.TrimSuffix(out, []byte("\n")), nil
		default:
			return nil, err
		}
	}
}

func parseLine(text []byte) (Record, error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return Record{}, fmt.Errorf("not a line of an export: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Record{}, errors.New("more than one JSON value on the line")
	}
	switch {
	case l.Position == nil || l.Kind == nil || l.Time == nil:
		return Record{}, errors.New("a field is missing: position, kind, time and payload or base64 are required")
	case (l.Payload == nil) == (l.Base64 == nil):
		return Record{}, errors.New("exactly one of payload and base64 is required")
	}
	if why := checkKind(*l.Kind); why != "" {
		return Record{}, fmt.Errorf("kind %.80q: %s", *l.Kind, why)
	}
	payload := []byte(l.Payload)
	if l.Base64 != nil {
		var err error
		if payload, err = base64.StdEncoding.Strict().DecodeString(*l.Base64); err != nil {
			return Record{}, fmt.Errorf("base64: %w", err)
		}
	}
	return Record{*l.Position, Event{*l.Kind, *l.Time, payload}}, nil
}
