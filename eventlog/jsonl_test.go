package eventlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret"
)

// payloads are hard to export faithfully.
var payloads = []string{
	"", "null", "{}", `{"a":1}`, `{"a": 1}`, `{"a":1}` + "\n", `[1,2.50,1e400]`, `12345678901234567890`,
	`{"a":1,"a":2}`,
	`"<>&\u2028"`, "\"\u2028\"", "\"\xff\"", "\x00\x01", "nul", `{"a":`, `"\ud800"`, " 1", strings.Repeat("x", 70_000),
	`"` + strings.Repeat("y", 70_000) + `"`,
}

// TestCreateAfter checks that a log can begin after a position, in an empty directory or one of
// such a log, and that it counts as damaged until a snapshot covers what was before.
func TestCreateAfter(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s, err := Create(nil, dir, 7, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	first, last, err := s.Append(ctx, Event{Kind: "k", Time: 1}, Event{Kind: "k", Time: 2})
	if err != nil || first != 8 || last != 9 {
		t.Fatalf("%d to %d, %v", first, last, err)
	}
	if _, err := s.LatestSnapshot(ctx); !errors.Is(err, ErrDamaged) {
		t.Errorf("without a snapshot: %v", err)
	}
	if err := s.SaveSnapshot(ctx, 7, []byte("state")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := Check(ctx, nil, dir); err != nil || r.Damaged() || r.Base != 7 || r.Last != 9 {
		t.Errorf("%+v, %v", r, err)
	}
	if s, err := Create(nil, dir, 6, DefaultOptions()); err == nil {
		_ = s.Close()
		t.Error("a log was made over another one")
	}
	again, err := Create(nil, dir, 7, DefaultOptions())
	if err != nil || again.Stats().Last != 9 {
		t.Fatalf("the same call again: %v", err)
	}
	closeLog(t, again)
	if s, err = Open(nil, dir, DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	if saved, err := s.LatestSnapshot(ctx); err != nil || saved.Position != 7 || string(saved.State) != "state" {
		t.Errorf("%+v, %v", saved, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func exported(t testing.TB, s *Store) string {
	t.Helper()
	var b bytes.Buffer
	n, err := Export(&b, s.Read(context.Background(), s.Stats().First))
	if err != nil || n != s.Stats().Last+1-s.Stats().First {
		t.Fatalf("exported %d, %v", n, err)
	}
	return b.String()
}

// Every payload comes back byte for byte, and every line is JSON.
func TestExportImport(t *testing.T) {
	noLeaks(t)
	s := open(t, vfs.NewMem())
	for i, p := range payloads {
		if _, _,
			err := s.Append(t.Context(), Event{
			Kind: "a.B/c_1-x", Time: int64(1-i) << 62,
			Payload: []byte(p),
		}); err != nil {
			t.Fatal(err)
		}
	}
	text := exported(t, s)
	readable := 0
	for line := range strings.Lines(text) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %.200q", line)
		}
		if strings.Contains(line, `"payload":`) {
			readable++
		}
	}
	if readable != 10 {
		t.Errorf("%d payloads are exported as JSON, want 10", readable)
	}
	fs := vfs.NewMem()
	o, err := Open(fs, "log", DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Import(t.Context(), o, "f", strings.NewReader(strings.TrimSuffix(text, "\n"))); err != nil ||
		n != uint64(len(payloads)) {
		t.Fatalf("imported %d, %v", n, err)
	}
	if again := exported(t, o); again != text {
		t.Error("the export of the import differs")
	}
	got, err := readAll(o)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if string(r.Payload) != payloads[i] {
			t.Errorf("payload %d: %.100q, want %.100q", i, r.Payload, payloads[i])
		}
	}
	closeLog(t, o)
	closeLog(t, s)
}

// Invalid lines are rejected; the events before them are imported.
func TestImportRefusals(t *testing.T) {
	good := `{"position":1,"kind":"k","time":0,"payload":{}}` + "\n"
	for _, tc := range []struct{ text, want string }{
		{"\n", "f:1: not a line of an export: EOF"},
		{good + "x", "f:2: not a line of an export: invalid character 'x' looking for beginning of value"},
		{good + good, "f:2: position 1: it must be 2, as positions continue those of the log and of the lines before"},
		{
			`{"position":2,"kind":"k","time":0,"payload":{}}`,
			"f:1: position 2: it must be 1, as positions continue those of the log and of the lines before",
		},
		{
			`{"position":-1,"kind":"k","time":0,"payload":{}}`,
			"f:1: not a line of an export: json: cannot unmarshal number -1 into Go struct field line.position of " +
				"type uint64",
		},
		{
			`{"position":1,"kind":"k","payload":{}}`,
			"f:1: a field is missing: position, kind, time and payload or base64 are required",
		},
		{`{"position":1,"kind":"k","time":0}`, "f:1: exactly one of payload and base64 is required"},
		{
			`{"position":1,"kind":"k","time":0,"payload":1,"base64":""}`,
			"f:1: exactly one of payload and base64 is required",
		},
		{`{"position":1,"kind":"k","time":0,"base64":"?"}`, "f:1: base64: illegal base64 data at input byte 0"},
		{`{"position":1,"kind":"k","time":0,"base64":"AB=="}`, "f:1: base64: illegal base64 data at input byte 2"},
		{
			`{"position":1,"kind":"k k","time":0,"payload":1}`,
			`f:1: kind "k k": it must consist of letters, digits and . _ - /`,
		},
		{`{"position":1,"kind":"","time":0,"payload":1}`, `f:1: kind "": it must have 1 to 64 bytes`},
		{
			`{"position":1,"kind":"k","time":0,"payload":1,"x":2}`,
			`f:1: not a line of an export: json: unknown field "x"`,
		},
		{strings.TrimSpace(good) + "{}", "f:1: more than one JSON value on the line"},
	} {
		s := open(t, vfs.NewMem())
		n, err := Import(t.Context(), s, "f", strings.NewReader(tc.text))
		if fmt.Sprint(err) != tc.want || noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%.80q: got %v, want %s", tc.text, err, tc.want)
		}
		want := uint64(0)
		if strings.HasPrefix(tc.text, good) {
			want = 1
		}
		if n != want || s.Stats().Last != want {
			t.Errorf("%.80q: %d imported, the log ends at %d, want %d", tc.text, n, s.Stats().Last, want)
		}
		closeLog(t, s)
	}
}

// TestImportRepeated checks that an import goes on where it was interrupted, and that it never puts
// events behind others, or changes what is there.
func TestImportRepeated(t *testing.T) {
	noLeaks(t)
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `{"position":%d,"kind":"k","time":%d,"payload":%d}`+"\n", i+1, i, i)
	}
	lines := strings.SplitAfter(text.String(), "\n")
	part := func(from, to int) io.Reader { return strings.NewReader(strings.Join(lines[from:to], "")) }
	s := open(t, vfs.NewMem())
	for _, step := range []struct {
		from, to, n int
	}{{0, 300, 300}, {0, 1000, 700}, {0, 1000, 0}, {500, 700, 0}} {
		if n, err := Import(t.Context(), s, "f", part(step.from, step.to)); err != nil || n != uint64(step.n) {
			t.Errorf("lines %d to %d: %d imported, %v", step.from, step.to, n, err)
		}
	}
	if exported(t, s) != text.String() {
		t.Error("the log has other events")
	}
	closeLog(t, s)
	s = open(t, vfs.NewMem())
	if _, err := Import(t.Context(), s, "f", part(0, 300)); err != nil {
		t.Fatal(err)
	}
	lines[270] = strings.Replace(lines[270], `"time":270`, `"time":271`, 1)
	n, err := Import(t.Context(), s, "f", part(0, 1000))
	want := "f:257: positions 257 to 300: the log has other events there"
	if n != 0 || !errors.Is(err, ErrFenced) || !strings.HasPrefix(err.Error(), want) || s.Stats().Last != 300 {
		t.Errorf("%d imported, the log ends at %d, %v", n, s.Stats().Last, err)
	}
	closeLog(t, s)
}

// TestCopy copies a log that has dropped its first events, in two calls, and refuses a log with
// other events.
func TestCopy(t *testing.T) {
	noLeaks(t)
	from := open(t, vfs.NewMem())
	add := func(s *Store, n int) {
		t.Helper()
		for i := range n {
			if _, _, err := s.Append(t.Context(), Event{Kind: "k", Time: int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	save := func(at uint64) {
		t.Helper()
		if err := from.SaveSnapshot(t.Context(), at, fmt.Append(nil, "state ", at)); err != nil {
			t.Fatal(err)
		}
	}
	add(from, 400)
	save(100)
	if err := from.Compact(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMem()
	for i, want := range []uint64{300, 50, 0} {
		to, err := Create(fs, "log", 100, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := Copy(t.Context(), from, to); err != nil || n != want {
			t.Errorf("copy %d: %d events, %v", i, n, err)
		}
		a, errA := from.LatestSnapshot(t.Context())
		b, errB := to.LatestSnapshot(t.Context())
		if errA != nil || errB != nil || a.Position != b.Position || string(a.State) != string(b.State) {
			t.Errorf("copy %d: %+v and %+v, %v, %v", i, a, b, errA, errB)
		}
		if exported(t, from) != exported(t, to) {
			t.Errorf("copy %d: the events differ", i)
		}
		closeLog(t, to)
		if i == 0 {
			add(from, 50)
			save(420)
		}
	}
	other := open(t, vfs.NewMem())
	if _, err := Copy(t.Context(), from, other); err == nil || !strings.Contains(err.Error(), "continues with 1") {
		t.Errorf("to an empty log: %v", err)
	}
	add(other, 500)
	if _, err := Copy(t.Context(), from, other); !errors.Is(err, ErrFenced) {
		t.Errorf("to a log with other events: %v", err)
	}
	closeLog(t, other)
	closeLog(t, from)
}

// memoryLog implements the two methods of Log that Import needs.
type memoryLog struct {
	Log
	events []Event
}

func (m *memoryLog) Stats() Stats { return Stats{First: 1, Last: uint64(len(m.events))} }

func (m *memoryLog) AppendAt(_ context.Context, first uint64, events ...Event) error {
	if first != uint64(len(m.events))+1 {
		return ErrFenced
	}
	m.events = append(m.events, events...)
	return nil
}

func (m *memoryLog) all() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for i, e := range m.events {
			if !yield(Record{uint64(i + 1), e}, nil) {
				return
			}
		}
	}
}

// An import, exported and imported again, gives the same events.
func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"position":1,"kind":"k","time":0,"payload":{"a":[1,"x"]}}` + "\n" +
		`{"position":2,"kind":"b","time":-5,"base64":"AAEC"}`))
	for _, p := range payloads[:len(payloads)-2] {
		f.Add(appendLine(nil, Record{1, Event{Kind: "k", Payload: []byte(p)}}))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, b := &memoryLog{}, &memoryLog{}
		n, err := Import(t.Context(), a, "f", bytes.NewReader(text))
		if err != nil && noregret.CodeOf(err) != noregret.BadInput || n != uint64(len(a.events)) {
			t.Fatalf("%d of %d, %v", n, len(a.events), err)
		}
		var first, second bytes.Buffer
		if _, err := Export(&first, a.all()); err != nil {
			t.Fatal(err)
		}
		if _, err := Import(t.Context(), b, "f", bytes.NewReader(first.Bytes())); err != nil {
			t.Fatalf("importing an export: %v", err)
		}
		if _, err := Export(&second, b.all()); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("%q, then %q, %v", first.Bytes(), second.Bytes(), err)
		}
	})
}

// Errors of the underlying reader of an import carry the line.
type errorReader struct{}

var errBroken = errors.New("broken pipe")

func (errorReader) Read([]byte) (int, error) { return 0, errBroken }

func TestImportReadError(t *testing.T) {
	n, err := Import(t.Context(), &memoryLog{}, "f", errorReader{})
	if n != 0 || !errors.Is(err, errBroken) || err.Error() != "f:1: broken pipe" {
		t.Errorf("%d, %v", n, err)
	}
}
