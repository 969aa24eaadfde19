package changepoint

import (
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
)

// option is an option of a detector in the text of [Parse].
type option struct {
	name  string
	value any // *float64, *int, *uint64 or *bool
}

// kind is a detector that [Parse] knows by name.
type kind struct {
	name string
	// open returns the options with their defaults, and the constructor that reads them.
	open func() (options []option, build func() (Detector, error))
}

// kinds is the table of detectors.
var kinds = []kind{
	{"adwin", func() ([]option, func() (Detector, error)) {
		o := DefaultADWINOptions()
		return []option{
			{"delta", &o.Delta},
			{"lower", &o.Lower},
			{"upper", &o.Upper},
			{"hoeffding", &o.Hoeffding},
			{"buckets", &o.Buckets},
			{"part", &o.Part},
		}, func() (Detector, error) { return ofDetector(NewADWIN(o)) }
	}},
	{"kswin", func() ([]option, func() (Detector, error)) {
		o := DefaultKSWINOptions()
		return []option{{"alpha", &o.Alpha}, {"window", &o.Window}, {"recent", &o.Recent}, {"seed", &o.Seed}},
			func() (Detector, error) { return ofDetector(NewKSWIN(o)) }
	}},
	{"page-hinkley", func() ([]option, func() (Detector, error)) {
		o := PageHinkleyOptions{Drift: 0.02, Threshold: 25, Rounds: 30}
		return []option{{"drift", &o.Drift}, {"threshold", &o.Threshold}, {"rounds", &o.Rounds}},
			func() (Detector, error) { return ofDetector(NewPageHinkley(o)) }
	}},
	{"cusum", func() ([]option, func() (Detector, error)) {
		o := CUSUMOptions{Mean: math.NaN(), Drift: 0.25, Threshold: 20, Clip: math.Inf(1)}
		return []option{
			{"mean", &o.Mean},
			{"deviation", &o.Deviation},
			{"drift", &o.Drift},
			{"threshold", &o.Threshold},
			{"clip", &o.Clip},
		}, func() (Detector, error) {
			if math.IsNaN(o.Mean) {
				return nil, noregret.BadInputf("mean", "not given: cusum needs the mean before the change")
			}
			if o.Deviation == 0 {
				o.Deviation = math.Sqrt(max(float64(o.Mean*(1-o.Mean)), 0))
			}
			return ofDetector(NewCUSUM(o))
		}
	}},
}

// ofDetector returns a nil interface for a constructor that failed.
func ofDetector[D Detector](d D, err error) (Detector, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Names returns the names that [Parse] knows.
func Names() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// Parse returns the detector that text describes: a name alone, or a name with options after a
// colon, as in "adwin:delta=0.01" or "kswin:window=1000,recent=300". The names are [Names]; the
// options are the fields of the options of the detector in lower case. The defaults suit numbers in
// [0, 1] such as the errors of predictions, of which 1 is a mistake:
//
//	adwin          delta=0.002,lower=0,upper=1,hoeffding=false,buckets=5,part=5
//	kswin          alpha=0.005,window=100,recent=30,seed=0
//	page-hinkley   drift=0.02,threshold=25,rounds=30
//	cusum          mean=M,deviation=√(M(1−M)),drift=0.25,threshold=20,clip=+Inf
//
// The mean of cusum must be given. An error is of code bad_input and names the option,
// or of code usage for an unknown name.
func Parse(text string) (Detector, error) {
	name, rest, listed := strings.Cut(text, ":")
	k, err := named.Find("detector", name, kinds, func(k *kind) string { return k.name })
	if err != nil {
		return nil, err
	}
	options, build := k.open()
	if listed {
		for item := range strings.SplitSeq(rest, ",") {
			if err := setOption(name, options, item); err != nil {
				return nil, err
			}
		}
	}
	return build()
}

// setOption sets one option from an item name=value.
func setOption(detector string, options []option, item string) error {
	name, text, ok := strings.Cut(item, "=")
	if !ok {
		return noregret.BadInputf(detector, "%q: want an option as name=value", item)
	}
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.name
		if o.name != name {
			continue
		}
		var err error
		switch p := o.value.(type) {
		case *float64:
			*p, err = strconv.ParseFloat(text, 64)
		case *int:
			*p, err = strconv.Atoi(text)
		case *uint64:
			*p, err = strconv.ParseUint(text, 10, 64)
		case *bool:
			*p, err = strconv.ParseBool(text)
		}
		if err != nil {
			return noregret.BadInputf(name, "%q is not a value of this option", text)
		}
		return nil
	}
	return noregret.BadInputf(name, "not an option of %s, which has %s", detector, strings.Join(names, ", "))
}
