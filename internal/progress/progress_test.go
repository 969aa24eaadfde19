package progress

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret"
)

// fakeClock stands still until it is advanced.
type fakeClock struct {
	t     time.Time
	reads int
}

func (c *fakeClock) now() time.Time          { c.reads++; return c.t }
func (c *fakeClock) advance(d time.Duration) { c.t = c.t.Add(d) }

func newTest(t *testing.T, mode Mode) (*Reporter, *bytes.Buffer, *fakeClock) {
	t.Helper()
	c := &fakeClock{t: time.Unix(1000, 0)}
	var out bytes.Buffer
	r, err := New(&out, Options{Mode: mode, Clock: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return r, &out, c
}

func TestPlainTable(t *testing.T) {
	r, out, c := newTest(t, Plain)
	r.Start("train", 20)
	for i := int64(1); i <= 10; i++ {
		c.advance(time.Second / 2)
		r.Metric("f1", 0.5+float64(i)/100)
		if i == 6 {
			r.Pass(2)
		}
		r.Update(i)
		if i < 4 && out.Len() > 0 {
			t.Fatalf("printed %q after %d half seconds", out, i)
		}
	}
	r.Finish()
	want := `train
      f1   change      examples  pass  examples/s   done  elapsed      ETA
  0.5100        -             1     1        2.00   5.0%       1s      10s
  0.5200  +0.0100             2     1        2.00  10.0%       1s       9s
  0.5400  +0.0200             4     1        2.00  20.0%       2s       8s
  0.5800  +0.0400             8     2        2.00  40.0%       4s       6s
  0.6000  +0.0200            10     2        2.00  50.0%       5s       5s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// Blocks of examples may skip powers of two. A skip gives one row, and the last count has no second
// row.
func TestPlainBlocks(t *testing.T) {
	r, out, c := newTest(t, Plain)
	r.Start("generate", 0)
	for _, done := range []int64{300, 600, 900, 1200, 2048} {
		c.advance(time.Second)
		r.Update(done)
	}
	r.Finish()
	r.Finish()
	want := `generate
  metric   change      examples  pass  examples/s   done  elapsed      ETA
       -        -           300     1         300      -       1s        -
       -        -           600     1         300      -       2s        -
       -        -          1200     1         300      -       4s        -
       -        -          2048     1         410      -       5s        -
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// A new metric name gets its own header, and its first row has no change.
func TestPlainMetricChanges(t *testing.T) {
	r, out, c := newTest(t, Plain)
	r.Start("x", 0)
	r.Metric("f1", 0.5)
	c.advance(3 * time.Second)
	r.Update(1)
	r.Metric("gmean", 0.9)
	r.Update(2)
	r.Metric("gmean", math.NaN())
	r.Update(4)
	r.Finish()
	if got := strings.Count(out.String(), "change"); got != 3 {
		t.Errorf("%d headers, want 3:\n%s", got, out)
	}
	if strings.Contains(out.String(), "+0.4") || strings.Contains(out.String(), "NaN") {
		t.Errorf("different metrics were compared:\n%s", out)
	}
}

func TestSilentUnderTwoSeconds(t *testing.T) {
	for _, mode := range []Mode{Plain, Line} {
		r, out, c := newTest(t, mode)
		r.Start("train", 1000)
		for i := range int64(1000) {
			c.advance(1999 * time.Microsecond)
			r.Update(i + 1)
		}
		r.Finish()
		if out.Len() > 0 {
			t.Errorf("%s: a run of 1.999 s printed %q", mode, out)
		}
	}
}

func TestLineRewritesInPlace(t *testing.T) {
	r, out, c := newTest(t, Line)
	r.Start("train", 100)
	r.Metric("f1", 0.7312)
	c.advance(2 * time.Second)
	r.Update(50)
	r.Metric("f1", math.NaN())
	c.advance(time.Second)
	r.Update(75)
	r.Finish()
	parts := strings.Split(out.String(), "\r")
	if parts[0] != "" || len(parts) != 4 || !strings.HasSuffix(parts[3], "\n") {
		t.Fatalf("got %q", out)
	}
	first := "train: 50 examples  50.0%  25/s  ETA 2s  f1 0.7312"
	if parts[1] != first {
		t.Errorf("first line %q, want %q", parts[1], first)
	}
	second := "train: 75 examples  75.0%  25/s  ETA 1s"
	if strings.TrimRight(parts[2], " ") != second {
		t.Errorf("second line %q, want %q", parts[2], second)
	}
	if len(parts[2]) != len(parts[1]) {
		t.Errorf("a line of %d bytes was overwritten by one of %d", len(parts[1]), len(parts[2]))
	}
}

func TestLineAtMostTenASecond(t *testing.T) {
	r, out, c := newTest(t, Line)
	r.Start("train", 0)
	for i := range int64(10_000) { // ten seconds
		c.advance(time.Millisecond)
		r.Update(i + 1)
	}
	r.Finish()
	if got := strings.Count(out.String(), "\r"); got < 40 || got > 82 {
		t.Errorf("%d redraws in the 8 seconds after the silence, want 40 to 82", got)
	}
}

func TestLineFitsTheTerminal(t *testing.T) {
	r, out, c := newTest(t, Line)
	r.Start(strings.Repeat("long", 40), 0)
	c.advance(time.Minute)
	r.Update(1)
	r.Finish()
	for _, l := range strings.Split(strings.TrimSpace(out.String()), "\r") {
		if len(l) > width {
			t.Errorf("a line of %d bytes", len(l))
		}
	}
}

// The clock is not read on every example.
func TestClockIsReadSeldom(t *testing.T) {
	r, _, c := newTest(t, Line)
	r.Start("train", 0)
	for i := range int64(1_000_000) {
		r.Update(i + 1)
	}
	if c.reads > 100 {
		t.Errorf("%d clock reads for a million fast examples", c.reads)
	}
	// A job that becomes slow is noticed.
	before := c.reads
	for i := range int64(200_000) {
		c.advance(time.Millisecond)
		r.Update(1_000_000 + i + 1)
	}
	if c.reads-before < 1000 {
		t.Errorf("%d clock reads in 200 slow seconds", c.reads-before)
	}
}

func TestAutoIsQuietWithoutATerminal(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pr.Close()
	defer pw.Close()
	for _, w := range []io.Writer{new(bytes.Buffer), pw, nil} {
		for _, mode := range []Mode{Auto, ""} {
			r, err := New(w, Options{Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			if r.mode != Quiet {
				t.Errorf("mode on %T: %s, want quiet", w, r.mode)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		w    io.Writer
		mode Mode
		want string
	}{
		{io.Discard, "loud", `progress: unknown mode "loud": it must be auto, line, plain or quiet`},
		{nil, Plain, "progress: mode plain needs a writer"},
	} {
		_, err := New(tc.w, Options{Mode: tc.mode})
		if err == nil || err.Error() != tc.want || noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("New(%v, %q): %v, want %q", tc.w, tc.mode, err, tc.want)
		}
	}
}

func TestNilReporter(*testing.T) {
	var r *Reporter
	r.Start("x", 1)
	r.Update(1)
	r.Metric("f1", 1)
	r.Pass(2)
	r.Finish()
}

// Calls outside Start and Finish print nothing and do not panic.
func TestOutsideOfATask(t *testing.T) {
	r, out, c := newTest(t, Plain)
	c.advance(time.Hour)
	r.Update(5)
	r.Finish()
	r.Start("a", 0)
	r.Finish()
	c.advance(time.Hour)
	r.Update(1 << 40)
	r.Finish()
	if out.Len() > 0 {
		t.Errorf("printed %q", out)
	}
}

// A second task starts afresh, with its own silence and its own table.
func TestSecondTask(t *testing.T) {
	r, out, c := newTest(t, Plain)
	r.Start("a", 0)
	c.advance(3 * time.Second)
	r.Metric("f1", 0.25)
	r.Update(1)
	r.Start("b", 0) // finishes a
	c.advance(time.Second)
	r.Update(1)
	if got := strings.Count(out.String(), "\n"); got != 3 {
		t.Fatalf("%d lines for task a, want 3:\n%s", got, out)
	}
	c.advance(time.Second)
	r.Update(2)
	r.Finish()
	if !strings.Contains(out.String(), "\nb\n  metric   change") {
		t.Errorf("no fresh table for b:\n%s", out)
	}
}

type brokenWriter struct{ calls int }

func (w *brokenWriter) Write([]byte) (int, error) { w.calls++; return 0, errors.New("gone") }

func TestFailedWriteSilences(t *testing.T) {
	c := &fakeClock{}
	w := new(brokenWriter)
	r, err := New(w, Options{Mode: Plain, Clock: c.now})
	if err != nil {
		t.Fatal(err)
	}
	r.Start("x", 0)
	c.advance(time.Minute)
	for i := range int64(100) {
		r.Update(i + 1)
	}
	r.Finish()
	if w.calls != 1 {
		t.Errorf("%d writes to a broken writer, want 1", w.calls)
	}
}

func TestUpdateAllocatesNothing(t *testing.T) {
	for _, mode := range []Mode{Quiet, Plain, Line} {
		r, out, _ := newTest(t, mode)
		r.Start("train", 1<<40)
		var i int64
		if n := testing.AllocsPerRun(10_000, func() {
			i++
			r.Metric("f1", 0.5)
			r.Update(i)
		}); n != 0 {
			t.Errorf("%s: %v allocations per Update", mode, n)
		}
		if out.Len() > 0 {
			t.Errorf("%s: printed %q", mode, out)
		}
	}
}

func TestShortAndCount(t *testing.T) {
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{400 * time.Millisecond, "0s"},
		{59 * time.Second, "59s"},
		{59600 * time.Millisecond, "1m00s"},
		{185 * time.Second, "3m05s"},
		{2*time.Hour + 10*time.Minute, "2h10m"},
		{277 * time.Hour, "277h"},
	} {
		if got := short(tc.d); got != tc.want {
			t.Errorf("short(%v) = %q, want %q", tc.d, got, tc.want)
		}
	}
	for _, tc := range []struct {
		v    float64
		want string
	}{
		{0.25, "0.25"},
		{7, "7.00"},
		{9.999, "10"},
		{950, "950"},
		{999.6, "1.00k"},
		{12_300, "12.3k"},
		{999_600, "1.00M"},
		{1_204_000, "1.20M"},
		{2.5e9, "2.50G"},
		{math.NaN(), "-"},
	} {
		if got := string(appendCount(nil, tc.v)); got != tc.want {
			t.Errorf("appendCount(%v) = %q, want %q", tc.v, got, tc.want)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	r, err := New(io.Discard, Options{Mode: Line})
	if err != nil {
		b.Fatal(err)
	}
	r.Start("train", int64(b.N))
	b.ReportAllocs()
	for i := range b.N {
		r.Update(int64(i))
	}
}

// A task of few long steps has its own unit and is redrawn between the steps.
func TestUnitAndTick(t *testing.T) {
	now := time.Unix(0, 0)
	var b strings.Builder
	r, err := New(&b, Options{Mode: Line, Unit: "fits", Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	r.Start("compare", 10)
	r.Update(1)
	r.Tick()
	if b.Len() > 0 {
		t.Errorf("within two seconds: %q", b.String())
	}
	now = now.Add(4 * time.Second)
	r.Rename("compare stamp f1")
	r.Metric("f1", 0.5)
	r.Tick()
	r.Tick()
	if got, want := b.String(), "\rcompare stamp f1: 1 fits  10.0%  0.25/s  ETA 36s  f1 0.5000"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	r.Finish()
	r.Tick()
	(*Reporter)(nil).Tick()
}

// Off a terminal a long task prints the table, unless it is to be quiet, and another prints
// nothing.
func TestLong(t *testing.T) {
	for _, c := range []struct {
		o    Options
		rows bool
	}{
		{Options{}, false},
		{Options{Long: true}, true},
		{Options{Mode: Auto, Long: true}, true},
		{Options{Mode: Quiet, Long: true}, false},
		{Options{Mode: Plain}, true},
	} {
		var b strings.Builder
		now := time.Unix(0, 0)
		c.o.Clock = func() time.Time { now = now.Add(time.Second); return now }
		r, err := New(&b, c.o)
		if err != nil {
			t.Fatal(err)
		}
		r.Start("simulate", 9)
		for i := range 9 {
			r.Update(int64(i + 1))
		}
		r.Finish()
		if rows := strings.Count(b.String(), "\n"); (rows == 7) != c.rows || (rows == 0) == c.rows {
			t.Errorf("%+v: %d lines:\n%s", c.o, rows, b.String())
		}
	}
	if r, err := New(nil, Options{Long: true}); err != nil || r.mode != Quiet {
		t.Errorf("without a writer: %v", err)
	}
}
