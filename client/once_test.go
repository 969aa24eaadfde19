package client_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/client"
	"github.com/noregret/noregret/policy"
)

// unitMemory is an outbox with files that survives its Local, until it dies in one of its writes.
type unitMemory struct {
	data  []byte
	files map[uint64][]byte
	lives int // writes until it dies; below 0 for ever
}

var errDead = errors.New("the process is dead")

func (m *unitMemory) Load() ([]byte, error) { return m.data, nil }

func (m *unitMemory) Store(data []byte) error {
	if m.lives--; m.lives == -1 {
		m.lives = 0
		return errDead
	}
	m.data = slices.Clone(data)
	return nil
}

func (m *unitMemory) Append(file uint64, offset int64, data []byte) error {
	dies := false
	if m.lives--; m.lives == -1 {
		m.lives, dies, data = 0, true, data[:len(data)/2]
	}
	if m.files == nil {
		m.files = map[uint64][]byte{}
	}
	if old := m.files[file]; int64(len(old)) >= offset {
		m.files[file] = append(old[:offset:offset], data...)
	} else if !dies {
		return errors.New("a hole")
	}
	if dies {
		return errDead
	}
	return nil
}

func (m *unitMemory) Read(file uint64, size int64) ([]byte, error) {
	if int64(len(m.files[file])) < size {
		return nil, errors.New("too short")
	}
	return slices.Clone(m.files[file][:size]), nil
}

func (m *unitMemory) Remove(file uint64) error {
	delete(m.files, file)
	return nil
}

// TestRecordOnce reports units in five parts, each of them again after the process was killed in
// one of the writes by which it is kept, and once more after another kill: the service counts each
// once, and never more files are left than those of the latest units.
func TestRecordOnce(t *testing.T) {
	s, ctx := newService(t), t.Context()
	const part = 5000
	m := &unitMemory{lives: -1}
	start := func() *client.Local {
		t.Helper()
		o := hourly()
		o.Outbox, o.Remember = m, 2*part
		l, err := s.client.NewLocal(ctx, "toy", o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := start()
	kill := func() {
		t.Helper()
		was := m
		m = &unitMemory{data: m.data, files: m.files, lives: -1}
		*was = unitMemory{}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_ = l.Close(ended)
		l = start()
	}
	decisions := make([]policy.Assignment, 0, 5*part)
	for _, u := range units(5 * part) {
		d, err := l.Decide(u)
		if err != nil {
			t.Fatal(err)
		}
		d.HeldBack = false
		decisions = append(decisions, d)
	}
	record := func(ds []policy.Assignment) (counted int) {
		t.Helper()
		for _, d := range ds {
			ok, err := l.RecordOnce(d, map[string]float64{"x": 1})
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				counted++
			}
		}
		return counted
	}
	for i := range 5 {
		now := decisions[i*part : (i+1)*part]
		if n := record(now); n != part {
			t.Fatalf("part %d: %d are new, want %d", i, n, part)
		}
		m.lives = i % 3 // the write that fails
		if err := l.Keep(); err != nil {
			kill()
			if n := record(now); n != part { // neither units nor sums were kept
				t.Fatalf("part %d, after a kill in write %d: %d are new, want %d", i, i%3, n, part)
			}
		}
		m.lives = -1
		if i == 2 {
			if err := l.Flush(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Keep(); err != nil {
			t.Fatal(err)
		}
		kill()
		if n := record(decisions[max(0, i-1)*part : (i+1)*part]); n != 0 {
			t.Fatalf("part %d: %d of those that were kept are new", i, n)
		}
		if len(m.files) > 2 {
			t.Errorf("%d files of units", len(m.files))
		}
	}
	ok, err := l.RecordOnce(decisions[0], map[string]float64{"no": 1})
	if ok || noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a unit that is forgotten: %v, %v", ok, err)
	}
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.counted(t); got != 5*part {
		t.Errorf("%d units count, want %d", got, 5*part)
	}
}

// TestRemember checks after each unit that so many of the latest are known, and that not all are
// for ever.
func TestRemember(t *testing.T) {
	s := newService(t)
	const remember = 10
	o := hourly()
	o.Remember = remember
	l, err := s.client.NewLocal(t.Context(), "toy", o)
	if err != nil {
		t.Fatal(err)
	}
	record := func(unit string) bool {
		t.Helper()
		d, err := l.Decide(unit)
		if err != nil {
			t.Fatal(err)
		}
		counted, err := l.RecordOnce(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		return counted
	}
	names := units(5 * remember)
	for i, name := range names {
		if !record(name) {
			t.Errorf("unit %d does not count", i)
		}
		for j := max(0, i+1-remember); j <= i; j++ {
			if record(names[j]) {
				t.Errorf("unit %d counts again after unit %d", j, i)
			}
		}
	}
	if !record(names[0]) {
		t.Error("the first unit is still known")
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestForgottenFiles keeps units rarely, so that more than one half is forgotten between: the files
// of all of them are removed.
func TestForgottenFiles(t *testing.T) {
	s, m := newService(t), &unitMemory{lives: -1}
	const remember = 5000
	o := hourly()
	o.Remember, o.Outbox = remember, m
	l, err := s.client.NewLocal(t.Context(), "toy", o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(6 * remember) {
		d := policy.Assignment{Version: l.Policy().Version, Name: "gain", Unit: i}
		if _, err := l.RecordOnce(d, nil); err != nil {
			t.Fatal(err)
		}
		if i+1 == 2*remember || i+1 == 6*remember {
			if err := l.Keep(); err != nil {
				t.Fatal(err)
			}
			if m.files[i/remember+1] == nil || len(m.files) > 2 {
				t.Errorf("after %d units there are %d files, or not that of the last half", i+1, len(m.files))
			}
		}
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFilesOfUnits keeps units in files beside an outbox, and does not begin with files that are
// cut.
func TestFilesOfUnits(t *testing.T) {
	f, err := client.OpenFileOutbox(filepath.Join(t.TempDir(), "outbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, w := range []struct {
		offset int64
		text   string
	}{{0, "abcdwxyz"}, {4, "efgh"}} {
		if err := f.Append(3, w.offset, []byte(w.text)); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := f.Read(3, 8); err != nil || string(b) != "abcdefgh" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := f.Read(3, 9); err == nil {
		t.Error("more is read than there is")
	}
	for range 2 {
		if err := f.Remove(3); err != nil {
			t.Error(err)
		}
	}
	s := newService(t)
	o := hourly()
	o.Remember, o.Outbox = 10, &unitMemory{lives: -1, data: []byte(
		`{"format": 1, "experiment": "toy", "source": "a", "units": {"now": {"file": 1, "size": 8}}}`)}
	_, err = s.client.NewLocal(t.Context(), "toy", o)
	if noregret.CodeOf(err) != noregret.BadInput || !strings.Contains(err.Error(), "the units that were counted") {
		t.Errorf("a file that is cut: %v", err)
	}
}

// TestRefusedReportStays reports to a service that refuses the access token, cannot be found or
// takes less: what was recorded counts once that is mended, and a report that is bad does not come
// again.
func TestRefusedReportStays(t *testing.T) {
	s, ctx := newService(t), t.Context()
	l, err := s.client.NewLocal(ctx, "toy", hourly())
	if err != nil {
		t.Fatal(err)
	}
	record := func() {
		t.Helper()
		d, err := l.Decide("u")
		if err == nil {
			d.HeldBack = false
			err = l.Record(d, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(status int) {
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		s.answer.Store(&answer)
		if err := l.Flush(ctx); err == nil {
			t.Errorf("%d is no error", status)
		}
		s.answer.Store(nil)
	}
	want := int64(0)
	for _, status := range []int{403, 404, 413, 421, 500} {
		record()
		refuse(status)
		if err := l.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		want++
	}
	record()
	refuse(400)
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := s.counted(t); got != want {
		t.Errorf("%d units count, want %d", got, want)
	}
}
