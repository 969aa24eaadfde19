package classify

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/loss"
)

// The values of settings that are not plain numbers or bools. Flags read and write them as text,
// model files as JSON: see [ModelOptions].

// nameFlag is the flag of a constant that has a name.
type nameFlag[T ~int] struct {
	value *T
	names []string
}

func nameOf[T ~int](value *T, names []string) FlagValue { return nameFlag[T]{value, names} }

// String implements [FlagValue].
func (f nameFlag[T]) String() string {
	if f.value == nil || int(*f.value) < 0 || int(*f.value) >= len(f.names) {
		return ""
	}
	return f.names[*f.value]
}

// Set implements [FlagValue].
func (f nameFlag[T]) Set(text string) error {
	i := slices.Index(f.names, text)
	if i < 0 {
		return errors.New("want " + strings.Join(f.names, " or "))
	}
	*f.value = T(i)
	return nil
}

// Type implements [FlagValue].
func (f nameFlag[T]) Type() string { return strings.Join(f.names, "|") }

func (f nameFlag[T]) number() float64 { return float64(*f.value) }

// openFlag is a number that may be left open, which is then nil. Commands and model files write 0
// for nil.
type openFlag struct{ value **int }

// String implements [FlagValue].
func (f openFlag) String() string {
	if f.value == nil {
		return "0"
	}
	return strconv.Itoa(openNumber(*f.value))
}

// Set implements [FlagValue].
func (f openFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if err == nil {
		*f.value = openOption(int(n))
	}
	return err
}

// Type implements [FlagValue].
func (openFlag) Type() string { return "int" }

func (f openFlag) number() float64 { return float64(openNumber(*f.value)) }

// shareFlag is a share that may be left open, which is then nil. Commands leave it out, and model
// files write null.
type shareFlag struct{ value **float64 }

// String implements [FlagValue].
func (f shareFlag) String() string {
	if f.value == nil || *f.value == nil {
		return "0"
	}
	return strconv.FormatFloat(**f.value, 'g', -1, 64)
}

// Set implements [FlagValue].
func (f shareFlag) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil {
		*f.value = &v
	}
	return err
}

// Type implements [FlagValue].
func (shareFlag) Type() string { return "float64" }

func (f shareFlag) number() float64 {
	if *f.value == nil {
		return 0
	}
	return **f.value
}

// levelFlag is [Options.LevelPositives] as commands and model files write it: 0 is the default, -1
// is never.
type levelFlag struct{ o *Options }

// String implements [FlagValue].
func (f levelFlag) String() string {
	if f.o == nil {
		return "0"
	}
	return strconv.Itoa(levelNumber(f.o.LevelPositives))
}

// Set implements [FlagValue].
func (f levelFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, 32)
	if err != nil {
		return err
	}
	positives, err := levelOf(int(n))
	if err != nil {
		return err
	}
	f.o.LevelPositives = positives
	return nil
}

// Type implements [FlagValue].
func (levelFlag) Type() string { return "int" }

// number is the value in [Options], 0 for nil, which is in range too.
func (f levelFlag) number() float64 {
	if f.o.LevelPositives == nil {
		return 0
	}
	return float64(*f.o.LevelPositives)
}

// rateFlag is the learning rate as commands write it: auto is [StepsBetting], a number
// [Config.Step], and default neither.
type rateFlag struct{ o *Options }

// autoRate and defaultRate are the words for a rate.
const autoRate, defaultRate = "auto", "default"

// String implements [FlagValue].
func (f rateFlag) String() string {
	switch {
	case f.o == nil:
		return defaultRate
	case f.o.Config.Steps == StepsBetting:
		return autoRate
	case f.o.Config.Step == 0:
		return defaultRate
	}
	return strconv.FormatFloat(f.o.Config.Step, 'g', -1, 64)
}

// Set implements [FlagValue].
func (f rateFlag) Set(text string) error {
	steps, step := f.o.Config.Steps, 0.0
	if steps == StepsBetting {
		steps = StepsDefault
	}
	switch text {
	case autoRate:
		steps = StepsBetting
	case defaultRate:
	default:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !aboveZero(v) {
			return errors.New("want auto, default or a finite number above 0")
		}
		step = v
	}
	f.o.Config.Steps, f.o.Config.Step = steps, step
	return nil
}

// Type implements [FlagValue].
func (rateFlag) Type() string { return "auto|number" }

// rewardFlag is the training reward by its name.
type rewardFlag struct{ o *Options }

// String implements [FlagValue].
func (f rewardFlag) String() string {
	if f.o == nil || f.o.Config.Reward == nil {
		return ""
	}
	return f.o.Config.Reward.Name()
}

// Set implements [FlagValue].
func (f rewardFlag) Set(text string) error {
	r, err := loss.ParseReward(text)
	if err == nil {
		f.o.Config.Reward = r
	}
	return err
}

// Type implements [FlagValue].
func (rewardFlag) Type() string { return "string" }

// driftFlag is [Options.Drift] as commands and model files write it.
type driftFlag struct{ o *Options }

// String implements [FlagValue].
func (f driftFlag) String() string {
	if f.o == nil {
		return forget.Rule{}.String()
	}
	return driftText(f.o.Drift)
}

// Set implements [FlagValue].
func (f driftFlag) Set(text string) error {
	d, err := ParseDrift(text)
	if err == nil {
		f.o.Drift = d
	}
	return err
}

// Type implements [FlagValue].
func (driftFlag) Type() string { return "none|restart|discount|detector|adaptive" }

// number is 1 for a rule that forgets something.
func (f driftFlag) number() float64 {
	if f.o.Drift.Kind == forget.None {
		return 0
	}
	return 1
}

// inverted is a bool that model files write as its opposite.
type inverted struct{ value *bool }

// thresholdRules, averagings and stepRules are the names of the rules for thresholds, of the ways
// of averaging and of the schedules of steps, in the order of their constants.
var (
	thresholdRules = []string{"default", "zero", "tuned"}
	averagings     = []string{"all", "last_pass", "none", "last_half"}
	stepRules      = []string{"default", "sqrt", "adaptive", "betting"}
)

// openNumber and openOption convert an option that may be left open, which is then nil, to and from
// the number in commands and model files, which is then 0.
func openNumber(option *int) int {
	if option == nil {
		return 0
	}
	return *option
}

func openOption(number int) *int {
	if number == 0 {
		return nil
	}
	return &number
}

// levelNumber and levelOf convert [Options.LevelPositives] to and from the number in commands and
// model files, and nothing else does. levelOf returns an error for numbers out of range.
func levelNumber(positives *int) int {
	switch {
	case positives == nil:
		return 0
	case *positives == 0:
		return -1
	default:
		return *positives
	}
}

func levelOf(number int) (*int, error) {
	switch {
	case number < -1:
		return nil, errors.New("want at least -1")
	case number < 0:
		return new(0), nil
	case number == 0:
		return nil, nil
	default:
		return new(number), nil
	}
}
