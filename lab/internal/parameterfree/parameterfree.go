// Package parameterfree compares training without a learning rate with the default step size and
// with a search for it, on the sets of two classes in a directory of data, and prints the tables of
// lab/docs/parameterfree.md.
package parameterfree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
)

// Command returns the command "noregret-lab parameterfree".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "parameterfree",
		Short: "Compare --rate auto with the default step size and with a search for it",
		Long: `Train without a learning rate, with the default step size and with a search for it, on the sets of
two classes in a directory of data, and print the measure on held-out data and the training loss.
Sets that are not there are left out, with a note. All sets take some 15 minutes on one core.`,
		Example: "  noregret-lab parameterfree --data DIR --sets a9a,w8a --trainers sgd-hinge",
		Args:    cobra.NoArgs,
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.dir, "data", "../../shared/data", "directory of the data sets")
	f.StringSliceVar(&o.sets, "sets", nil, "names of the sets; empty for all")
	f.StringSliceVar(&o.trainers, "trainers", []string{"sgd-logistic", "sgd-hinge", "spade", "stamp"},
		"names of the trainers")
	f.IntVar(&o.seeds, "seeds", 3, "seeds of the split, the order of the examples and the held-out part, at least 2")
	f.IntVar(&o.passes, "passes", 10, "passes over the data, 0 for the default of the trainer")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
	}
	return c
}

// options say what to measure.
type options struct {
	dir            string
	sets, trainers []string
	seeds, passes  int
}

// run measures and writes the tables to out, notes to notes.
func (o *options) run(ctx context.Context, out, notes io.Writer) error {
	if o.seeds < 2 || o.passes < 0 {
		return noregret.Errorf(noregret.Usage, "", "%d seeds and %d passes: want at least 2 and 0", o.seeds, o.passes)
	}
	temp, err := os.MkdirTemp("", "parameterfree")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left there is small
	m := measurement{seeds: o.seeds, passes: o.passes}
	tables := map[string][]row{}
	for _, b := range sets {
		if len(o.sets) > 0 && !slices.Contains(o.sets, b.name) {
			continue
		}
		data, err := b.load(ctx, o.dir, temp)
		if errors.Is(err, errMissing) {
			fmt.Fprintf(notes, "skipped: %v\n", err)
			continue
		}
		if err != nil {
			return err
		}
		for _, trainer := range o.trainers {
			r, err := m.measure(ctx, b.name, trainer, data)
			if err != nil {
				return errors.Join(fmt.Errorf("%s by %s: %w", b.name, trainer, err), data.Set.Close())
			}
			tables[trainer] = append(tables[trainer], r)
			fmt.Fprintf(notes, "%s by %s\n", b.name, trainer)
		}
		if err := data.Set.Close(); err != nil {
			return err
		}
	}
	if len(tables) == 0 {
		fmt.Fprintf(out, "skipped: no data set is in %s\n", o.dir)
		return nil
	}
	for _, trainer := range o.trainers {
		writeTable(out, trainer, tables[trainer])
	}
	return nil
}
