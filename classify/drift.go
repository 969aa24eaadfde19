package classify

import (
	"fmt"
	"math"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/forget"
)

// olderForm is a spelling that [ParseDrift] reads beside that of package forget.
type olderForm struct {
	kind, option string // what package forget calls the kind, and the name of its number
	value        string // where the text has none
}

var olderForms = map[string]olderForm{
	"restart":  {"restart", "interval=", "5000"},
	"discount": {"memory", "window=", "1000"},
	"detector": {"detector", "", "adwin"},
	"adaptive": {"adaptive", "interval=", "250"},
}

// defaultWarm is the number of examples of a full restart whose text has no warm.
const defaultWarm = 200

// ParseDrift reads how a learner keeps up with a stream that changes: the text of a [forget.Rule],
// or one of these spellings of the same.
//
//	none
//	restart:interval=5000,mode=steps    restart=5000,mode=steps
//	discount:window=1000                memory=1000
//	detector:mode=steps,adwin           detector=adwin,mode=steps
//	adaptive:interval=250               adaptive=250
//
// In them options may be left out, with the colon if all are; these are the defaults. With
// mode=full there is the option warm, 200 or a shorter interval if left out. The detector is as
// [changepoint.Parse] reads it for mistakes, for example adwin:delta=0.01. A window is not one of
// the rules: streams keep no rows. An error is of code usage.
func ParseDrift(text string) (forget.Rule, error) {
	r, err := forget.Parse(modern(text))
	if err != nil {
		return forget.Rule{}, noregret.Errorf(noregret.Usage, "", "drift: %w", err)
	}
	if r.Mode == forget.Full && !strings.Contains(text, "warm=") {
		if r.Warm = defaultWarm; r.Kind == forget.Restart {
			r.Warm = min(r.Warm, r.Rounds)
		}
	}
	r = ensureDrift(r)
	return r, checkDrift(r)
}

// modern returns the text of package forget for one of the other spellings.
func modern(text string) string {
	name, rest, given := strings.Cut(text, ":")
	form, older := olderForms[name]
	if !older {
		return text
	}
	value, options := form.value, ""
	var detector []string
	for given {
		var item string
		item, rest, given = strings.Cut(rest, ",")
		restart := strings.HasPrefix(item, "mode=") || strings.HasPrefix(item, "warm=")
		switch {
		case form.option != "" && strings.HasPrefix(item, form.option):
			value = strings.TrimPrefix(item, form.option)
		case name == "detector" && !restart:
			detector = append(detector, item)
			value = strings.Join(detector, ",")
		default:
			options += "," + item
		}
	}
	return form.kind + "=" + value + options
}

// ensureDrift returns a rule with what it leaves to the learner.
func ensureDrift(r forget.Rule) forget.Rule {
	switch {
	case r.Kind == forget.Adaptive && r.Rounds == 0:
		r.Rounds = 250
	case (r.Kind == forget.Restart || r.Kind == forget.Detector) && r.Mode == forget.Usual:
		r.Mode = forget.Steps
	}
	return r
}

// checkDrift returns an error of code usage for a rule by which no learner of a stream forgets.
func checkDrift(r forget.Rule) error {
	if err := r.Validate(); err != nil {
		return noregret.Errorf(noregret.Usage, "", "drift: %w", err)
	}
	switch r.Kind {
	case forget.Window:
		return usage("drift %s: a stream keeps no rows; want memory=%d", r, r.Rounds)
	case forget.Discount:
		if n := windowOf(r); n < 2 || n > forget.MostRounds || 1/float64(n) != r.Rate {
			return usage("drift %s: want a memory of 2 to %d rows, a whole number", r, forget.MostRounds)
		}
	case forget.Detector:
		if _, err := r.Trigger(forget.Mistakes); err != nil {
			return noregret.Errorf(noregret.Usage, "", "drift: %w", err)
		}
	case forget.Restart:
		if r.Warm > r.Rounds {
			return usage("drift: warm is %d and interval %d: a new learner would never predict; want warm of at most "+
				"the interval", r.Warm, r.Rounds)
		}
	}
	return nil
}

// windowOf is the number of examples that a discount remembers.
func windowOf(r forget.Rule) int { return int(math.Round(min(1/r.Rate, 2*forget.MostRounds))) }

// driftText is the text that [ParseDrift] reads, in the spelling of model files and tables, with
// all options.
func driftText(r forget.Rule) string {
	r = ensureDrift(r)
	mode := "mode=" + string(r.Mode)
	if r.Mode == forget.Full {
		mode += fmt.Sprintf(",warm=%d", r.Warm)
	}
	switch r.Kind {
	case forget.Restart:
		return fmt.Sprintf("restart:interval=%d,%s", r.Rounds, mode)
	case forget.Discount:
		return fmt.Sprintf("discount:window=%d", windowOf(r))
	case forget.Detector:
		return fmt.Sprintf("detector:%s,%s", mode, r.Detector)
	case forget.Adaptive:
		return fmt.Sprintf("adaptive:interval=%d", r.Rounds)
	default:
		return r.String()
	}
}
