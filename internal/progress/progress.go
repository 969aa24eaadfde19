// Package progress is the module's one progress reporter: what a person sees on standard
// error while a long job runs.
//
// A [Reporter] says nothing during the first two seconds, so that short jobs stay silent.
// After that it takes one of two forms.
//
// The line form, for terminals, is one line rewritten in place at most ten times a second:
//
//	train: 1234567 examples  45.2%  512k/s  ETA 3s  f1 0.7312
//
// The plain form, for logs and pipes, is Vowpal Wabbit's doubling table: a row when the count
// of examples reaches 1, 2, 4, 8, ... and a last row at the end, so that a run of a billion
// examples prints some thirty rows. Rows that fall due in the first two seconds are held
// back and printed together when the two seconds are over, hence a table is
// always whole:
//
//	train
//	      f1   change      examples  pass  examples/s   done  elapsed      ETA
//	  0.5000        -             1     1        1.00  12.5%       1s       7s
//	  0.6667  +0.1667             2     1        1.00  25.0%       2s       6s
//
// The columns: the current value of the metric under its own name and its change since the row
// above ("-" where there is none); the examples done so far over all passes; the
// pass; the mean rate since the start; the part done, the time since the start and the
// time left at the mean rate. The parts that need a total are "-" without one.
// Vowpal Wabbit's "since last" column is the mean loss between two rows, which has no
// meaning for F1 and its like; the change takes its place.
//
// The reporter reads a clock that is handed in, never fails the job it reports on (after a
// failed write it stays silent), and [Reporter.Update] costs a comparison or two on almost
// every call and never allocates while nothing is printed. All methods of a nil *Reporter
// do nothing. A Reporter is not safe for concurrent use.
package progress

import (
	"io"
	"math"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/noregret/noregret"
)

// Mode is the form in which progress is shown.
type Mode string

// The modes.
const (
	// Auto is [Line] when the writer is a terminal and [Quiet] when it is not.
	Auto Mode = "auto"
	// Line rewrites one line in place.
	Line Mode = "line"
	// Plain prints the doubling table.
	Plain Mode = "plain"
	// Quiet prints nothing.
	Quiet Mode = "quiet"
)

const (
	delay       = 2 * time.Second        // silence at the start
	redraw      = 100 * time.Millisecond // between two drawings of the line
	maxStride   = 1 << 16                // most examples between two looks at the clock
	maxHeldRows = 64                     // a row for every power of two in an int64
	width       = 79                     // the longest line; longer ones would wrap and not be rewritten
)

// Options configures a [Reporter]. The zero value is ready to use.
type Options struct {
	// Mode is the form; "" means [Auto].
	Mode Mode
	// Clock returns the time; nil means [time.Now]. It must not go backward.
	Clock func() time.Time
	// Unit is what is counted, a plural; "" means "examples".
	Unit string
}

// Reporter reports on one task at a time: Start, then Update and Metric as often as
// wanted, then Finish; then perhaps the next Start. A nil *Reporter is silent.
type Reporter struct {
	w     io.Writer
	mode  Mode // Line, Plain or Quiet
	clock func() time.Time
	unit  string

	task    string
	total   int64
	running bool
	start   time.Time
	done    int64
	pass    int
	metric  string
	value   float64

	next      int64 // the count at which Update looks further
	nextCheck int64 // the count at which it looks at the clock
	nextRow   int64 // the count of the next row of the table
	stride    int64
	checked   time.Time // of the last look at the clock

	shown   bool // something of this task is on the writer
	drawn   time.Time
	lastLen int
	held    [maxHeldRows]row
	nheld   int
	last    row // the last row printed
	rows    int // rows printed
	failed  bool
	buf     []byte
}

// row is a row of the doubling table, as it was when it fell due.
type row struct {
	done    int64
	pass    int
	metric  string
	value   float64
	elapsed time.Duration
}

// New returns a reporter that writes to w. It returns a [noregret.Usage] error
// when the mode is unknown or w is nil while the mode is not [Quiet].
func New(w io.Writer, opt Options) (*Reporter, error) {
	r := &Reporter{w: w, mode: opt.Mode, clock: opt.Clock, unit: opt.Unit, next: math.MaxInt64}
	if r.unit == "" {
		r.unit = "examples"
	}
	switch r.mode {
	case Auto, "":
		r.mode = Quiet
		if f, ok := w.(*os.File); ok && f != nil && term.IsTerminal(int(f.Fd())) {
			r.mode = Line
		}
	case Line, Plain, Quiet:
	default:
		return nil, noregret.Errorf(noregret.Usage, "progress",
			"mode %q is unknown, want auto, line, plain or quiet", opt.Mode)
	}
	if w == nil && r.mode != Quiet {
		return nil, noregret.Errorf(noregret.Usage, "progress", "mode %s needs a writer", r.mode)
	}
	if r.clock == nil {
		r.clock = time.Now
	}
	return r, nil
}

// Start begins a task. The total is the number of examples that it will do over all
// passes, or 0 (or less) when that is not known. A task still running is finished first.
func (r *Reporter) Start(task string, total int64) {
	if r == nil || r.mode == Quiet {
		return
	}
	r.Finish()
	r.task, r.total, r.running = task, total, true
	r.done, r.pass, r.metric, r.value = 0, 1, "", 0
	r.start = r.clock()
	r.checked = r.start
	r.stride, r.nextCheck, r.nextRow = 1, 1, math.MaxInt64
	if r.mode == Plain {
		r.nextRow = 1
	}
	r.shown, r.lastLen, r.nheld, r.rows, r.last = false, 0, 0, 0, row{}
	r.next = 1
}

// Update says that done examples have been done since Start, over all passes. It is made
// to be called after every example.
func (r *Reporter) Update(done int64) {
	if r == nil {
		return
	}
	r.done = done
	if done >= r.next {
		r.look()
	}
}

// Metric says the current value of the metric that the task improves. It is shown with
// the next drawing; calling it costs nothing. A NaN hides the metric.
func (r *Reporter) Metric(name string, value float64) {
	if r == nil {
		return
	}
	if math.IsNaN(value) {
		name = ""
	}
	r.metric, r.value = name, value
}

// Tick draws the current state again if it is time, though the count has not grown: for tasks of
// few, long steps. It reads the clock.
func (r *Reporter) Tick() {
	if r == nil || !r.running {
		return
	}
	if now := r.clock(); r.mode == Line && now.Sub(r.start) >= delay && (!r.shown || now.Sub(r.drawn) >= redraw) {
		r.drawLine(now)
	}
}

// Rename gives the running task another name, for the part of it that begins.
func (r *Reporter) Rename(task string) {
	if r != nil {
		r.task = task
	}
}

// Pass says that pass number n, counted from 1, has begun. Start sets it to 1.
func (r *Reporter) Pass(n int) {
	if r != nil {
		r.pass = n
	}
}

// Finish ends the task. If anything of it was shown, the last state is drawn and the line
// is closed; a task that took less than two seconds leaves no trace. A second Finish
// does nothing, so that it can be deferred.
func (r *Reporter) Finish() {
	if r == nil || !r.running {
		return
	}
	now := r.clock()
	late := now.Sub(r.start) >= delay
	switch {
	case r.mode == Line && (r.shown || late):
		r.drawLine(now)
		r.write("\n")
	case r.mode == Plain && (r.shown || late):
		r.flushRows()
		if r.rows == 0 || r.last.done != r.done {
			r.printRow(r.rowAt(now))
		}
	}
	r.running, r.next = false, math.MaxInt64
}

// look is the slow part of Update: a row is due or the clock is to be read.
func (r *Reporter) look() {
	if !r.running {
		r.next = math.MaxInt64
		return
	}
	now := r.clock()
	r.adapt(now)
	if r.done >= r.nextRow {
		for r.nextRow <= r.done && r.nextRow < math.MaxInt64/2 {
			r.nextRow *= 2
		}
		if r.nextRow <= r.done {
			r.nextRow = math.MaxInt64
		}
		if r.nheld < maxHeldRows {
			r.held[r.nheld] = r.rowAt(now)
			r.nheld++
		}
	}
	if now.Sub(r.start) >= delay {
		switch {
		case r.mode == Plain:
			r.flushRows()
		case !r.shown || now.Sub(r.drawn) >= redraw:
			r.drawLine(now)
		}
	}
	r.next = min(r.nextCheck, r.nextRow)
}

// adapt sets how many examples pass until the next look at the clock, aiming at 5 to
// 50 milliseconds.
func (r *Reporter) adapt(now time.Time) {
	if r.done < r.nextCheck {
		return // a row was due, not the clock
	}
	switch gap := now.Sub(r.checked); {
	case gap < 5*time.Millisecond && r.stride < maxStride:
		r.stride *= 2
	case gap > 50*time.Millisecond:
		r.stride = max(1, r.stride/8)
	}
	r.checked = now
	r.nextCheck = r.done + r.stride
}

func (r *Reporter) rowAt(now time.Time) row {
	return row{done: r.done, pass: r.pass, metric: r.metric, value: r.value, elapsed: now.Sub(r.start)}
}

func (r *Reporter) write(s string) {
	if r.failed {
		return
	}
	if _, err := io.WriteString(r.w, s); err != nil {
		r.failed = true
	}
}

func (r *Reporter) writeBuf() {
	if r.failed {
		return
	}
	if _, err := r.w.Write(r.buf); err != nil {
		r.failed = true
	}
}
