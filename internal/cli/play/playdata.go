package play

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/regret"
)

// mostExampleBytes bounds the memory of a data set as dense vectors.
const mostExampleBytes = 1 << 30

// examples reads a data set for a game: labels as numbers for regression, as ±1 for classification.
func examples(ctx context.Context, a *command.App, f *dataflags.Flags, game *regret.GameEntry,
	inputs []string,
) (list []regret.Example, err error) {
	if game.TakesExamples == "" {
		return nil, noregret.Errorf(noregret.Usage, "--game", "%s takes no data: only regression and classification do",
			game.Name)
	}
	var set *dataset.Set
	positive := -1
	if game.TakesExamples == "classification" {
		s, data, err := f.Load(ctx, a, inputs)
		if err != nil {
			return nil, err
		}
		set, positive = s, data.Positive
	} else {
		if f.Positive != "" {
			return nil, noregret.Errorf(noregret.Usage, "--positive", "%q: %s takes labels as numbers", f.Positive,
				game.Name)
		}
		if set, err = f.LoadSet(ctx, a, inputs, nil); err != nil {
			return nil, err
		}
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	info := set.Info()
	if info.Weighted {
		return nil, noregret.Errorf(noregret.Usage, strings.Join(inputs, ", "),
			"the examples have weights, which games do not use; leave the column or key out (--ignore-columns)")
	}
	if bytes := 8 * float64(info.Rows) * float64(info.Dim); bytes > mostExampleBytes {
		return nil, noregret.BadInputf(strings.Join(inputs, ", "),
			"%d rows of %d features: as dense vectors they take %s of memory, want at most %s",
			info.Rows, info.Dim, memory.Format(bytes), memory.Format(mostExampleBytes))
	}
	labels := make([]float64, len(info.Labels))
	for i, l := range info.Labels {
		switch {
		case positive < 0:
			if labels[i], err = strconv.ParseFloat(l.Name, 64); err != nil {
				return nil, noregret.BadInputf("label", "%q: %s takes labels as numbers", l.Name,
					game.Name)
			}
		case i == positive:
			labels[i] = 1
		default:
			labels[i] = -1
		}
	}
	r, err := set.Read()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var b dataset.Block
	for {
		switch err := r.Next(&b); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, err
		}
		for i := range b.Len() {
			z := make([]float64, info.Dim)
			index, value := b.Row(i)
			for k, j := range index {
				z[j] = float64(value[k])
			}
			list = append(list, regret.Example{Z: z, Y: labels[b.Class[i]]})
		}
	}
}
