package forget

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/internal/named"
)

// Kind is a way to forget.
type Kind string

// The ways to forget.
const (
	// None forgets nothing.
	None Kind = ""
	// Discount multiplies the weight of what is known by 1 − Rate in each round.
	Discount Kind = "discount"
	// Restart begins anew after every Rounds rounds: the restarting procedure of Besbes, Gur and
	// Zeevi ("Non-stationary Stochastic Optimization", Operations Research 63, 2015).
	Restart Kind = "restart"
	// Window lets the last Rounds rounds count.
	Window Kind = "window"
	// Detector begins anew when a change detector reports a change.
	Detector Kind = "detector"
	// Adaptive runs several memories and follows the one that has done best.
	Adaptive Kind = "adaptive"
)

// Mode says what a restart discards.
type Mode string

// The modes of a restart.
const (
	// Usual is what the learner does if it is not told.
	Usual Mode = ""
	// Steps begins the sequence of step sizes and the averages again, and keeps the weights.
	Steps Mode = "steps"
	// Full discards everything.
	Full Mode = "full"
)

// MostRounds bounds the rounds of a [Rule].
const MostRounds = 1<<31 - 1

// Rule says how a learner forgets. The zero value forgets nothing. A field that the kind does not
// name is 0. Rules are compared by ==.
type Rule struct {
	Kind Kind
	// Rounds, from 1 to MostRounds, is the number of rounds between two restarts (Restart), of the
	// window (Window), or of the shortest interval (Adaptive, for which 0 leaves it to the
	// learner).
	Rounds int
	// Rate, above 0 and below 1, is the part of its weight that what is known loses in each round
	// (Discount). A memory of m rounds has the rate 1/m.
	Rate float64
	// Detector is the name of a detector, with settings if wanted (Detector): see
	// [changepoint.Parse].
	Detector string
	// Mode is what a restart discards (Restart, Detector).
	Mode Mode
	// Warm ≥ 0 is the number of rounds that a new learner learns from before it takes over from the
	// old one (Full).
	Warm int
}

// Validate returns an error of code bad_input that names the field which is out of range, or which
// the kind does not have. The settings of a detector are checked when it is made, because their
// defaults depend on the numbers that it is for.
func (r Rule) Validate() error {
	restarts := r.Kind == Restart || r.Kind == Detector
	rounds := r.Kind == Restart || r.Kind == Window || r.Kind == Adaptive && r.Rounds != 0
	switch {
	case r.Kind != None && !slices.Contains(kinds, r.Kind):
		return noregret.BadInputf("kind", "%q: want one of %q", r.Kind, kinds)
	case !rounds && r.Rounds != 0:
		return noregret.BadInputf("rounds", "%d with kind %s: want 0", r.Rounds, r.kind())
	case rounds && (r.Rounds < 1 || r.Rounds > MostRounds):
		return noregret.BadInputf("rounds", "%d with kind %s: want 1 to %d", r.Rounds, r.Kind, MostRounds)
	case r.Kind != Discount && r.Rate != 0:
		return noregret.BadInputf("rate", "%v with kind %s: want 0", r.Rate, r.kind())
	case r.Kind == Discount && !(r.Rate > 0 && r.Rate < 1):
		return noregret.BadInputf("rate", "%v with kind %s: want a number above 0 and below 1", r.Rate, r.Kind)
	case r.Kind != Detector && r.Detector != "":
		return noregret.BadInputf("detector", "%q with kind %s: want none", r.Detector, r.kind())
	case r.Kind == Detector && !slices.Contains(Detectors(), r.DetectorName()):
		return noregret.BadInputf("detector", "%s", named.Unknown(r.DetectorName(), Detectors()))
	case !slices.Contains([]Mode{Usual, Steps, Full}, r.Mode):
		return noregret.BadInputf("mode", "%q: want steps or full", r.Mode)
	case !restarts && r.Mode != Usual:
		return noregret.BadInputf("mode", "%q with kind %s: want none", r.Mode, r.kind())
	case r.Mode != Full && r.Warm != 0, r.Warm < 0 || r.Warm > MostRounds:
		return noregret.BadInputf("warm", "%d: want 0 to %d, above 0 with mode full only", r.Warm, MostRounds)
	}
	for item := range strings.SplitSeq(r.Detector, ",") {
		if isOption(item) {
			return noregret.BadInputf("detector", "%q: %q is not a setting of a detector", r.Detector, item)
		}
	}
	return nil
}

// kinds are the ways to forget something.
var kinds = []Kind{Discount, Restart, Window, Detector, Adaptive}

// kind is the kind for errors.
func (r Rule) kind() string {
	if r.Kind == None {
		return "none"
	}
	return string(r.Kind)
}

// DetectorName returns the name of the detector without its settings.
func (r Rule) DetectorName() string {
	name, _, _ := strings.Cut(r.Detector, ":")
	return name
}

// Detectors lists the names of the detectors.
func Detectors() []string { return []string{"cusum", "page-hinkley", "adwin", "kswin"} }

// words are those with which a text may begin.
var words = []string{"none", "memory", "rate", "restart", "window", "detector", "adaptive"}

// the options of restarts in texts.
const modeOption, warmOption = "mode=", "warm="

// isOption reports whether an item of a text is an option of a restart.
func isOption(item string) bool {
	return strings.HasPrefix(item, modeOption) || strings.HasPrefix(item, warmOption)
}

// Parse reads the text of a rule:
//
//	none
//	memory=M          of M > 1 rounds; or rate=1/M
//	restart=N
//	window=N
//	detector=NAME     or NAME:setting=value,..., as changepoint.Parse reads it
//	adaptive          or adaptive=N
//
// restart and detector take the options mode=steps or mode=full, and warm=N with mode=full, after a
// comma: "restart=500,mode=full,warm=20". An error is of code bad_input, and names the text or the
// field out of range.
func Parse(text string) (Rule, error) {
	var r Rule
	first, rest, more := strings.Cut(text, ",")
	name, value, given := strings.Cut(first, "=")
	var err error
	switch {
	case name == "none" && !given:
	case name == "memory" && given:
		var rounds float64
		if rounds, err = strconv.ParseFloat(value, 64); err == nil && !(rounds > 1 && rounds <= math.MaxFloat64) {
			return Rule{}, noregret.BadInputf(name, "%q: want a finite number of rounds above 1", value)
		}
		r.Kind, r.Rate = Discount, 1/rounds
	case name == "rate" && given:
		r.Kind = Discount
		r.Rate, err = strconv.ParseFloat(value, 64)
	case (name == "restart" || name == "window") && given, name == "adaptive":
		r.Kind = Kind(name)
		if given {
			r.Rounds, err = strconv.Atoi(value)
		}
		if given && r.Rounds < 1 {
			return Rule{}, noregret.BadInputf(name, "%q: want a whole number of at least 1 rounds", value)
		}
	case name == "detector" && given:
		r.Kind, r.Detector = Detector, value
	default:
		near := ""
		word := text
		if i := strings.IndexAny(text, "=:,"); i >= 0 {
			word = text[:i]
		}
		if !slices.Contains(words, word) {
			near = named.DidYouMean(word, words)
		}
		return Rule{}, noregret.BadInputf("forget",
			"%q: %swant none, memory=M, restart=N, window=N, detector=NAME or adaptive", text, near)
	}
	if err != nil {
		return Rule{}, noregret.BadInputf(name, "%q is not a number of rounds", value)
	}
	warm := false
	for more {
		var item string
		item, rest, more = strings.Cut(rest, ",")
		switch {
		case strings.HasPrefix(item, modeOption) && item != modeOption:
			r.Mode = Mode(strings.TrimPrefix(item, modeOption))
		case strings.HasPrefix(item, warmOption):
			warm = true
			if r.Warm, err = strconv.Atoi(strings.TrimPrefix(item, warmOption)); err != nil {
				return Rule{}, noregret.BadInputf("warm", "%q is not a whole number", item)
			}
		case r.Kind == Detector && !isOption(item):
			r.Detector += "," + item
		default:
			return Rule{}, noregret.BadInputf("forget", "%q: %q is not an option of %s", text, item, r.kind())
		}
	}
	if warm && r.Mode != Full {
		return Rule{}, noregret.BadInputf("warm", "given in %q: want it with mode=full only", text)
	}
	if err := r.Validate(); err != nil {
		return Rule{}, err
	}
	return r, nil
}

// String is the text of a rule, which [Parse] reads back as the same rule. A rate that is not 1/m
// for a number m of 64 bits is written as rate=R.
func (r Rule) String() string {
	text := r.kind()
	switch r.Kind {
	case Discount:
		text = memoryText(r.Rate)
	case Restart, Window:
		text += "=" + strconv.Itoa(r.Rounds)
	case Adaptive:
		if r.Rounds != 0 {
			text += "=" + strconv.Itoa(r.Rounds)
		}
	case Detector:
		text += "=" + r.Detector
	}
	if r.Mode != Usual {
		text += "," + modeOption + string(r.Mode)
	}
	if r.Mode == Full {
		text += "," + warmOption + strconv.Itoa(r.Warm)
	}
	return text
}

// memoryText is the text of a discount.
func memoryText(rate float64) string {
	for _, m := range []float64{math.Round(1 / rate), 1 / rate} {
		if 1/m == rate {
			return "memory=" + strconv.FormatFloat(m, 'f', -1, 64)
		}
	}
	return "rate=" + strconv.FormatFloat(rate, 'g', -1, 64)
}

// Keep is the factor of the weight of what is known in each round: 1 − Rate.
func (r Rule) Keep() float64 { return 1 - r.Rate }

// Statistic is what the numbers are that a detector is given. It determines the defaults of the
// detector's settings, and the range at whose ends numbers are cut off.
type Statistic int

const (
	// Mistakes are numbers in [0, 1], such as 1 for a mistake and 0 for none. The defaults are
	// those of [changepoint.Parse].
	Mistakes Statistic = iota
	// Residuals are standardized: of mean 0 and standard deviation 1 before a change. They are cut
	// off at 4 or, for adwin, at 2, so that one outlier alone is no change. The defaults are
	//
	//	cusum          mean=0,deviation=1,drift=0.5,threshold=10,clip=4
	//	page-hinkley   drift=0.5,threshold=11,rounds=16
	//	adwin          lower=-2,upper=2,delta=0.05
	//	kswin          alpha=1e-05
	//
	// with which false alarms are rare: lab/docs/pasto.md has their rates.
	Residuals
)

// residualDefaults are the texts of the detectors of [Residuals], and where they cut numbers off:
// ADWIN's bound grows with the range.
var residualDefaults = map[string]struct {
	text string
	most float64
}{
	"cusum":        {"cusum:mean=0,deviation=1,drift=0.5,threshold=10,clip=4", 4},
	"page-hinkley": {"page-hinkley:drift=0.5,threshold=11,rounds=16", 4},
	"adwin":        {"adwin:lower=-2,upper=2,delta=0.05", 2},
	"kswin":        {"kswin:alpha=1e-05", 4},
}

// Trigger makes the trigger of the rule, at its start: [Every] of Restart, [Detect] of Detector,
// for numbers of the given kind, and [Never] of the others. It returns an error of code bad_input
// for a detector with settings out of range.
func (r Rule) Trigger(of Statistic) (Trigger, error) {
	switch r.Kind {
	case Restart:
		return Every(r.Rounds)
	case Detector:
		text, low, high := r.Detector, 0.0, 1.0
		if of == Residuals {
			d := residualDefaults[r.DetectorName()]
			low, high = -d.most, d.most
			if _, settings, ok := strings.Cut(text, ":"); ok {
				d.text += "," + settings // what comes last counts
			}
			text = d.text
		}
		detector, err := changepoint.Parse(text)
		if err != nil {
			return nil, err
		}
		return Detect(detector, low, high)
	}
	return Never(), nil
}
