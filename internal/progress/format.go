package progress

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// drawLine rewrites the line in place.
func (r *Reporter) drawLine(now time.Time) {
	elapsed := now.Sub(r.start)
	b := append(r.buf[:0], '\r')
	b = append(b, r.task...)
	b = append(b, ": "...)
	b = strconv.AppendInt(b, r.done, 10)
	b = append(append(b, ' '), r.unit...)
	if r.total > 0 {
		b = append(b, "  "...)
		b = strconv.AppendFloat(b, percent(r.done, r.total), 'f', 1, 64)
		b = append(b, '%')
	}
	b = append(b, "  "...)
	b = appendCount(b, rate(r.done, elapsed))
	b = append(b, "/s"...)
	if r.total > 0 {
		b = append(b, "  ETA "...)
		b = append(b, eta(r.done, r.total, elapsed)...)
	}
	if r.metric != "" {
		b = append(b, "  "...)
		b = append(b, r.metric...)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, r.value, 'f', 4, 64)
	}
	if len(b) > 1+width {
		b = b[:1+width]
	}
	n := len(b)
	for len(b) < r.lastLen { // overwrite the rest of a longer line
		b = append(b, ' ')
	}
	r.lastLen, r.drawn, r.shown = n, now, true
	r.buf = b
	r.writeBuf()
}

// flushRows prints the rows that are due.
func (r *Reporter) flushRows() {
	for _, h := range r.held[:r.nheld] {
		r.printRow(h)
	}
	r.nheld = 0
}

// printRow prints a row, with a header if it is the first or the metric has changed.
func (r *Reporter) printRow(h row) {
	b := r.buf[:0]
	if r.rows == 0 || r.last.metric != h.metric {
		name := h.metric
		if name == "" {
			name = "metric"
		}
		if r.rows == 0 {
			b = fmt.Appendf(b, "%s\n", r.task)
		}
		b = fmt.Appendf(b, "%8s %8s %13s %5s %11s %6s %8s %8s\n",
			name, "change", r.unit, "pass", r.unit+"/s", "done", "elapsed", "ETA")
	}
	value, change := "-", "-"
	if h.metric != "" {
		value = strconv.FormatFloat(h.value, 'f', 4, 64)
		if r.rows > 0 && r.last.metric == h.metric {
			change = fmt.Sprintf("%+.4f", h.value-r.last.value)
		}
	}
	part, left := "-", "-"
	if r.total > 0 {
		part = strconv.FormatFloat(percent(h.done, r.total), 'f', 1, 64) + "%"
		left = eta(h.done, r.total, h.elapsed)
	}
	b = fmt.Appendf(b, "%8s %8s %13d %5d %11s %6s %8s %8s\n", value, change, h.done, h.pass,
		appendCount(nil, rate(h.done, h.elapsed)), part, short(h.elapsed), left)
	r.last, r.shown, r.buf = h, true, b
	r.rows++
	r.writeBuf()
}

func rate(done int64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return math.NaN()
	}
	return float64(done) / elapsed.Seconds()
}

func percent(done, total int64) float64 {
	return min(100, 100*float64(done)/float64(total))
}

// eta returns the remaining time at the mean rate so far, or "-" if it is unknown.
func eta(done, total int64, elapsed time.Duration) string {
	if done <= 0 || elapsed <= 0 {
		return "-"
	}
	left := elapsed.Seconds() * float64(max(0, total-done)) / float64(done)
	if left > 1e9 {
		return "-"
	}
	return short(time.Duration(left * float64(time.Second)))
}

// short formats a time in its largest one or two units: 7s, 3m05s, 2h10m, 277h.
func short(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 100*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	default:
		return fmt.Sprintf("%dh", s/3600)
	}
}

// appendCount appends a count with three digits: 0.25, 7, 950, 12.3k, 1.20M; "-" for NaN.
func appendCount(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, '-')
	case v >= 999.5e6:
		return append(strconv.AppendFloat(b, v/1e9, 'f', digits(v/1e9), 64), 'G')
	case v >= 999.5e3:
		return append(strconv.AppendFloat(b, v/1e6, 'f', digits(v/1e6), 64), 'M')
	case v >= 999.5:
		return append(strconv.AppendFloat(b, v/1e3, 'f', digits(v/1e3), 64), 'k')
	case v >= 9.995:
		return strconv.AppendFloat(b, v, 'f', 0, 64)
	default:
		return strconv.AppendFloat(b, v, 'f', 2, 64)
	}
}

func digits(v float64) int {
	switch {
	case v < 9.995:
		return 2
	case v < 99.95:
		return 1
	default:
		return 0
	}
}
