package classify

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/internal/named"
)

// DriftKind is a way to keep up with a stream that changes.
type DriftKind int

// The ways to keep up with a stream that changes.
const (
	// DriftNone assumes that the stream does not change.
	DriftNone DriftKind = iota
	// DriftRestart restarts the learner at fixed intervals (Besbes, Gur and Zeevi 2015).
	DriftRestart
	// DriftDiscount discounts the past and ends the fall of the step sizes: see [Config.Window].
	DriftDiscount
	// DriftDetector restarts the learner when a change detector finds that the errors of its
	// predictions have become more frequent.
	DriftDetector
	// DriftAdaptive runs a learner for each interval of a geometric covering and predicts by their
	// mixture, which sleeping experts weigh.
	DriftAdaptive
)

// driftKinds are the names of the kinds.
var driftKinds = []string{"none", "restart", "discount", "detector", "adaptive"}

// RestartMode says what a restart discards.
type RestartMode int

// The modes of a restart.
const (
	// RestartSteps starts the sequence of step sizes and the average again. The weights stay. It
	// excludes StepsBetting.
	RestartSteps RestartMode = iota
	// RestartFull discards everything: a new learner starts from nothing.
	RestartFull
)

// restartModes are the names of the modes.
var restartModes = []string{"steps", "full"}

// Drift says how a learner keeps up with a stream that changes. The zero value assumes that it does
// not. [ParseDrift] reads one from text.
type Drift struct {
	Kind DriftKind
	// Interval ≥ 1 is the number of examples between restarts (DriftRestart), or the length of the
	// shortest interval (DriftAdaptive).
	Interval int
	// Mode is the mode of restarts (DriftRestart, DriftDetector).
	Mode RestartMode
	// Warm ≥ 0 is the number of examples that a new learner learns from before it replaces the old
	// one in predictions, after a full restart (DriftRestart, DriftDetector). The old one learns no
	// more. With Warm > 0 it also predicts until the new one has seen both classes and has finished
	// its burn-in. Warm is at most the Interval of DriftRestart.
	Warm int
	// Window ≥ 2 is the number of examples that are remembered (DriftDiscount).
	Window int
	// Detector is the text of a detector of package changepoint (DriftDetector): see
	// [changepoint.Parse].
	Detector string
}

// Defaults of the options in texts.
const (
	defaultRestart  = 5000
	defaultAdaptive = 250
	defaultWindow   = 1000
	defaultWarm     = 200
	defaultDetector = "adwin"
)

// mostWindow bounds windows and intervals.
const mostWindow = 1<<31 - 1

// ParseDrift reads a text:
//
//	none
//	restart:interval=5000,mode=steps
//	discount:window=1000
//	detector:mode=steps,adwin
//	adaptive:interval=250
//
// Options may be left out, with the colon if all are; these are the defaults. With mode=full there
// is the option warm, 200 or a shorter interval if left out. The detector comes last, as
// [changepoint.Parse] reads it, for example adwin:delta=0.01. An error is of code usage.
func ParseDrift(text string) (Drift, error) {
	name, rest, given := strings.Cut(text, ":")
	d := Drift{Kind: -1}
	for i, k := range driftKinds {
		if k == name {
			d.Kind = DriftKind(i)
		}
	}
	switch d.Kind {
	case DriftNone:
		if given {
			return Drift{}, usage("drift %q: none has no options", text)
		}
		return d, nil
	case DriftRestart:
		d.Interval = defaultRestart
	case DriftDiscount:
		d.Window = defaultWindow
	case DriftDetector:
		d.Detector = defaultDetector
	case DriftAdaptive:
		d.Interval = defaultAdaptive
	default:
		return Drift{}, usage("drift %s", named.Unknown(text, driftKinds))
	}
	warm := false
	for given && rest != "" {
		item, next, more := strings.Cut(rest, ",")
		known, err := d.set(item)
		if err != nil {
			return Drift{}, err
		}
		if !known {
			break
		}
		warm = warm || strings.HasPrefix(item, "warm=")
		rest, given = next, more
	}
	if given {
		if d.Kind != DriftDetector || rest == "" {
			return Drift{}, usage("drift %q: want %s as name=value after %s:", text, d.options(), name)
		}
		d.Detector = rest
	}
	switch {
	case d.Mode == RestartSteps && warm:
		return Drift{}, usage("drift %q: warm is for mode=full, mode=steps keeps the weights", text)
	case d.Mode == RestartFull && !warm:
		if d.Warm = defaultWarm; d.Kind == DriftRestart {
			d.Warm = min(d.Warm, max(d.Interval, 0))
		}
	}
	return d, d.check()
}

// options names the options of a kind.
func (d Drift) options() string {
	switch d.Kind {
	case DriftRestart:
		return "interval, mode or warm"
	case DriftDiscount:
		return "window"
	case DriftDetector:
		return "mode or warm, or a detector,"
	case DriftAdaptive:
		return "interval"
	default:
		return "no options"
	}
}

// set sets the option of an item name=value. It reports whether the kind has such an option.
func (d *Drift) set(item string) (known bool, err error) {
	name, text, _ := strings.Cut(item, "=")
	restarts := d.Kind == DriftRestart || d.Kind == DriftDetector
	var field *int
	switch {
	case name == "mode" && restarts:
		for i, m := range restartModes {
			if m == text {
				d.Mode = RestartMode(i)
				return true, nil
			}
		}
		return true, usage("drift: mode is %q, want steps or full", text)
	case name == "warm" && restarts:
		field = &d.Warm
	case name == "interval" && (d.Kind == DriftRestart || d.Kind == DriftAdaptive):
		field = &d.Interval
	case name == "window" && d.Kind == DriftDiscount:
		field = &d.Window
	default:
		return false, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		return true, usage("drift: %s is %q, want a whole number", name, text)
	}
	*field = v
	return true, nil
}

// check returns an error of code usage for an option out of range.
func (d Drift) check() error {
	switch d.Kind {
	case DriftNone:
		return nil
	case DriftRestart, DriftAdaptive:
		if d.Interval < 1 || d.Interval > mostWindow {
			return usage("drift: interval is %d, want 1 to %d", d.Interval, mostWindow)
		}
	case DriftDiscount:
		if d.Window < 2 || d.Window > mostWindow {
			return usage("drift: window is %d, want 2 to %d", d.Window, mostWindow)
		}
	case DriftDetector:
		if _, err := changepoint.Parse(d.Detector); err != nil {
			return noregret.Errorf(noregret.Usage, "", "drift: %w", err)
		}
	default:
		return usage("drift is of kind %d, want DriftNone to DriftAdaptive", d.Kind)
	}
	if d.Mode != RestartSteps && d.Mode != RestartFull {
		return usage("drift: mode is %d, want RestartSteps or RestartFull", d.Mode)
	}
	if d.Warm < 0 || d.Warm > mostWindow {
		return usage("drift: warm is %d, want 0 to %d", d.Warm, mostWindow)
	}
	if d.Kind == DriftRestart && d.Mode == RestartFull && d.Warm > d.Interval {
		return usage("drift: warm is %d and interval %d: a new learner would never predict; want warm of at most the "+
			"interval", d.Warm, d.Interval)
	}
	return nil
}

// String is the text that [ParseDrift] reads, with all options.
func (d Drift) String() string {
	mode := "mode=" + restartModes[min(max(d.Mode, RestartSteps), RestartFull)]
	if d.Mode == RestartFull {
		mode += fmt.Sprintf(",warm=%d", d.Warm)
	}
	switch d.Kind {
	case DriftRestart:
		return fmt.Sprintf("restart:interval=%d,%s", d.Interval, mode)
	case DriftDiscount:
		return fmt.Sprintf("discount:window=%d", d.Window)
	case DriftDetector:
		return fmt.Sprintf("detector:%s,%s", mode, d.Detector)
	case DriftAdaptive:
		return fmt.Sprintf("adaptive:interval=%d", d.Interval)
	default:
		return driftKinds[DriftNone]
	}
}
