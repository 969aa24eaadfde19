package train

import (
	"cmp"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/dataflags"
)

// measureChoice holds the possible meanings of names of measures: measures of two classes, of
// several classes or labels, or both. In the last case the number of labels in the data decides.
type measureChoice struct {
	two   []measure.Objective // nil if a name means none
	multi []measure.Objective // nil if a name means none
	task  classify.Task       // of multi
}

// of returns the measures of a task.
func (c measureChoice) of(task classify.Task) []measure.Objective {
	if task == classify.Binary {
		return c.two
	}
	return c.multi
}

// taskOf decides by the labels of the data between two classes and several.
func (c measureChoice) taskOf(info dataset.Info) classify.Task {
	if c.two == nil || c.multi != nil && len(info.Labels) > 2 {
		return c.task
	}
	return classify.Binary
}

// check returns nil if valid accepts one of the tasks that the measures may mean, else its first
// error.
func (c measureChoice) check(valid func(task classify.Task) error) error {
	var first error
	for _, task := range []classify.Task{classify.Binary, c.task} {
		if c.of(task) == nil {
			continue
		}
		err := valid(task)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// chooseMeasures looks up the names given to a flag.
func chooseMeasures(flag string, names []string, data *dataflags.Flags) (c measureChoice, err error) {
	c.task = classify.Multiclass
	if data.Multilabel {
		c.task = classify.Multilabel
		if data.Positive != "" {
			return c, noregret.Errorf(noregret.Usage, "--positive",
				"for two classes only: --multilabel is for several labels")
		}
	}
	isTwo, isMulti := !data.Multilabel, data.Positive == ""
	var errTwo, errMulti error
	for _, name := range names {
		m, err := measure.Parse(name)
		if err != nil && errTwo == nil {
			isTwo, errTwo = false, err
		}
		c.two = append(c.two, m)
		multi, err := measure.ParseMulti(name, data.Multilabel)
		if err != nil && errMulti == nil {
			isMulti, errMulti = false, err
		}
		c.multi = append(c.multi, multi)
	}
	switch {
	case isTwo && !isMulti:
		c.multi = nil
	case isMulti && !isTwo:
		c.two = nil
	case isTwo:
	case data.Multilabel:
		return c, errMulti
	case data.Positive != "" && errMulti == nil:
		return c, noregret.Errorf(noregret.Usage, "--positive", "%s is a measure of all classes: leave the flag out",
			strings.Join(names, ", "))
	case len(names) > 1 && errTwo != nil && knownMeasures(names):
		return c, noregret.Errorf(noregret.Usage, flag,
			"%s are measures of two classes and of several: compare them apart", strings.Join(names, ", "))
	case strings.HasPrefix(names[0], "macro_") || strings.HasPrefix(names[0], "micro_"):
		return c, errMulti
	default:
		return c, errTwo
	}
	return c, nil
}

// knownMeasures reports whether each name means something.
func knownMeasures(names []string) bool {
	for _, name := range names {
		_, errTwo := measure.Parse(name)
		_, errMulti := measure.ParseMulti(name, false)
		if errTwo != nil && errMulti != nil {
			return false
		}
	}
	return true
}
