// Package progress is the module's only progress reporter: it shows a person on standard error that
// a long job is running.
//
// A [Reporter] is silent during the first two seconds, so that short jobs stay silent. After that
// it has one of two forms.
//
// The line form, for terminals, is one line rewritten in place at most ten times a second:
//
//	train: 1234567 examples  45.2%  512k/s  ETA 3s  f1 0.7312
//
// The plain form, for logs and pipes, is Vowpal Wabbit's doubling table: a row when the count of
// examples reaches 1, 2, 4, 8, ... and a last row at the end, so that a run of a billion examples
// prints about thirty rows. Rows that are due in the first two seconds are printed together after
// them, so a table is always complete:
//
//	train
//	      f1   change      examples  pass  examples/s   done  elapsed      ETA
//	  0.5000        -             1     1        1.00  12.5%       1s       7s
//	  0.6667  +0.1667             2     1        1.00  25.0%       2s       6s
//
// The columns are the current value of the metric under its own name and its change since the
// previous row ("-" if there is none); the examples so far over all passes; the pass; the mean rate
// since the start; the share of work done, the time since the start and the remaining time at the
// mean rate. Columns that need a total are "-" without one. Vowpal Wabbit's column "since last" is
// the mean loss between two rows, which has no meaning for F1 and similar measures; the change
// replaces it.
//
// The reporter reads the clock of its Options. It never fails the job (after a failed write it
// stays silent). [Reporter.Update] costs one or two comparisons on almost every call and does not
// allocate unless it prints. All methods of a nil *Reporter have no effect. A Reporter is not safe
// for concurrent use.
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
	// Auto is [Line] when the writer is a terminal. When it is not, it is [Quiet], or [Plain] for
	// [Options.Long].
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
	maxStride   = 1 << 16                // most examples between two readings of the clock
	maxHeldRows = 64                     // a row for every power of two in an int64
	// width is that of the longest line; a longer one would wrap and could not be rewritten.
	width = 79
)

// Options configures a [Reporter]. The zero value is ready to use.
type Options struct {
	// Mode is the form; "" means [Auto].
	Mode Mode
	// Clock returns the time and must not go backward; nil means [time.Now].
	Clock func() time.Time
	// Unit is the plural noun for what is counted; "" means "examples".
	Unit string
	// Long marks a task of minutes or hours: [Auto] then prints the table where no terminal shows
	// the line.
	Long bool
}

// Reporter reports on one task at a time: Start, then any number of calls of Update and Metric,
// then Finish, then perhaps the next Start. A nil *Reporter is silent.
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

	next      int64 // the count at which Update calls look
	nextCheck int64 // the count at which it reads the clock
	nextRow   int64 // the count of the next row of the table
	stride    int64
	checked   time.Time // the last reading of the clock

	shown   bool // something of this task was written
	drawn   time.Time
	lastLen int
	held    [maxHeldRows]row
	nheld   int
	last    row // the last row printed
	rows    int // rows printed
	failed  bool
	buf     []byte
}

// row is a row of the doubling table with the state at the time when it was due.
type row struct {
	done    int64
	pass    int
	metric  string
	value   float64
	elapsed time.Duration
}

// New returns a reporter that writes to w. It returns a [noregret.Usage] error if the mode is
// unknown, or if w is nil and the mode is not [Quiet].
func New(w io.Writer, opt Options) (*Reporter, error) {
	r := &Reporter{w: w, mode: opt.Mode, clock: opt.Clock, unit: opt.Unit, next: math.MaxInt64}
	if r.unit == "" {
		r.unit = "examples"
	}
	switch r.mode {
	case Auto, "":
		r.mode = Quiet
		if opt.Long && w != nil {
			r.mode = Plain
		}
		if f, ok := w.(*os.File); ok && f != nil && term.IsTerminal(int(f.Fd())) {
			r.mode = Line
		}
	case Line, Plain, Quiet:
	default:
		return nil, noregret.Errorf(noregret.Usage, "progress",
			"unknown mode %q: it must be auto, line, plain or quiet", opt.Mode)
	}
	if w == nil && r.mode != Quiet {
		return nil, noregret.Errorf(noregret.Usage, "progress", "mode %s needs a writer", r.mode)
	}
	if r.clock == nil {
		r.clock = time.Now
	}
	return r, nil
}

// Start begins a task. total is the number of examples over all passes, or 0 or less if it is
// unknown. Start finishes a running task first.
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

// Update reports the number of examples done since Start, over all passes. It is cheap enough to be
// called after every example.
func (r *Reporter) Update(done int64) {
	if r == nil {
		return
	}
	r.done = done
	if done >= r.next {
		r.look()
	}
}

// Metric sets the current value of the metric that the task improves. The next line or row shows
// it. A NaN hides the metric.
func (r *Reporter) Metric(name string, value float64) {
	if r == nil {
		return
	}
	if math.IsNaN(value) {
		name = ""
	}
	r.metric, r.value = name, value
}

// Tick redraws the line if it is due, even if the count has not changed. It is for tasks with few,
// long steps. It reads the clock.
func (r *Reporter) Tick() {
	if r == nil || !r.running {
		return
	}
	if now := r.clock(); r.mode == Line && now.Sub(r.start) >= delay && (!r.shown || now.Sub(r.drawn) >= redraw) {
		r.drawLine(now)
	}
}

// Rename changes the name of the running task, for its next part.
func (r *Reporter) Rename(task string) {
	if r != nil {
		r.task = task
	}
}

// Pass sets the number of the current pass, counted from 1. Start sets it to 1.
func (r *Reporter) Pass(n int) {
	if r != nil {
		r.pass = n
	}
}

// Finish ends the task. If anything of it was shown, Finish draws the last state and ends the line;
// a task of less than two seconds prints nothing. A second Finish has no effect, so it can be
// deferred.
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

// look is the slow part of Update: it reads the clock and records a row that is due.
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

// adapt sets the number of examples until the next reading of the clock, aiming at 5 to 50
// milliseconds.
func (r *Reporter) adapt(now time.Time) {
	if r.done < r.nextCheck {
		return // a row was due, not a reading of the clock
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
