package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// pageFuncs are the functions that templates may call.
var pageFuncs = template.FuncMap{
	"num": func(v any) string {
		switch v := v.(type) {
		case *float64:
			if v != nil {
				return Figure(*v)
			}
		case float64:
			return Figure(v)
		}
		return "unknown"
	},
	"interval": Interval,
	"guardText": func(s api.GuardState) string {
		if s == api.GuardRolledBack {
			return string(s.Verdict()) + ", rolled back"
		}
		return string(s.Verdict())
	},
	"guardClass": func(s api.GuardState) string {
		switch s {
		case api.GuardHeld:
			return "ok"
		case api.GuardWatch:
			return "watch"
		case api.GuardBreached, api.GuardRolledBack:
			return "breached"
		}
		return "unknown"
	},
	"tooFew":       func(c *api.Comparison) bool { return c.Verdict == api.TooFew },
	"vague":        vague,
	"meanInterval": meanInterval,
	"percent":      percent,
	"rest":         func(p float64) float64 { return 1 - p },
	"signed":       signed,
	"signedInterval": func(low, high *float64) string {
		if low == nil || high == nil {
			return ""
		}
		return "[" + signed(low) + ", " + signed(high) + "]"
	},
	"verdictClass": func(v api.Verdict) string {
		switch v {
		case api.Better, api.ShownToHold:
			return "ok"
		case api.Worse, api.ShownBroken:
			return "breached"
		}
		return "unknown"
	},
	// sentence makes a text a sentence.
	"sentence": func(s string) string {
		if s == "" {
			return s
		}
		return capital(s) + "."
	},
	"capital": capital,
	"count":   digits,
	"moment":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"machine": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"state": func(s policy.Status) string {
		if s == policy.RolledBack {
			return "rolled back"
		}
		return string(s)
	},
}

// capital makes the first letter of a text a capital one.
func capital(s string) string { return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):] }

// Figure writes a number with four significant digits, with an exponent only if it is very large or
// very small, and with the sign of minus, as changes in per cent have it.
func Figure(v float64) string {
	sign, a := "", math.Abs(v)
	if v < 0 {
		sign = "−"
	}
	switch {
	case v == 0:
		return "0"
	case a >= 1e6 || a < 1e-4:
		return sign + strconv.FormatFloat(a, 'g', 4, 64)
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(a, 'e', 3, 64), "e") // of the rounded number
	e, _ := strconv.Atoi(exponent)
	return sign + strconv.FormatFloat(a, 'f', max(0, 3-e), 64)
}

// Interval writes "[low, high]"; nil bounds are infinite.
func Interval(low, high *float64) string {
	if low == nil && high == nil {
		return ""
	}
	l, h := "−∞", "∞"
	if low != nil {
		l = Figure(*low)
	}
	if high != nil {
		h = Figure(*high)
	}
	return "[" + l + ", " + h + "]"
}

// vague reports whether a comparison has no interval, or one that excludes neither half nor twice
// the control's value.
func vague(c *api.Comparison) bool {
	if c.Low == nil && c.High == nil {
		return true
	}
	r := c.Relative
	return r.Estimate != nil && (r.Low == nil || *r.Low <= -0.5) && (r.High == nil || *r.High >= 1)
}

// meanInterval writes the interval of a mean. One that goes from 0 or less to infinity says
// nothing.
func meanInterval(m api.MetricReport) string {
	if m.Mean != nil && m.High == nil && (m.Low == nil || *m.Low <= 0) {
		return "not enough data"
	}
	return Interval(m.Low, m.High)
}

// percent writes a share in per cent. A small positive one is not rounded to 0.
func percent(p float64) string {
	if p > 0 && p < 0.0005 {
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*p, 'f', 1, 64) + " %"
}

// signed writes a change in per cent with its sign.
func signed(p *float64) string {
	v := 100 * *p
	digits := 1
	if math.Abs(v) >= 100 {
		digits = 0
	} else if math.Abs(v) < 1 {
		digits = 2
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', digits, 64) + " %"
	if v < 0 {
		return "−" + s
	}
	return "+" + s
}

// digits writes a whole number with spaces between thousands.
func digits(v any) string {
	s := fmt.Sprint(v)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return sign + s
}
