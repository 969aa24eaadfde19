// Package contexts turns classification sets into contextual bandits and prints the table of
// lab/docs/contextual.md. An example is a round: its features are the context, its classes the
// arms, and the reward is 1 if the arm is the example's class and 0 if not; the other rewards are
// not shown (the conversion of Beygelzimer and Langford 2009). Every player sees the same orders of
// the examples. The table has the mean loss of a round, 1 − reward, in percent, with the standard
// deviation over the orders.
package contexts

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// sets names the sets, their files, and how wide the squares of pixels are that become one feature,
// 0 for sets that are not images.
var sets = []struct {
	name, file string
	pool       int
}{
	{"covtype", "covtype/covtype-sample10000.data.gz", 0},
	{"letter", "uci-imbalanced/letter-standardized.csv.gz", 0},
	{"mnist", "mnist/train-images-idx3-ubyte.gz", 4},
}

// Command returns the command "noregret-lab contexts".
func Command() *cobra.Command {
	c := &cobra.Command{
		Use:   "contexts",
		Short: "Play classification sets as contextual bandits",
		Long: `Play three classification sets as contextual bandits: an example is a round, its classes are the
arms, and only the reward of the chosen arm is shown. Print each player's mean loss over several
orders of the examples. All of them take some minutes.`,
		Example: "  noregret-lab contexts --data DIR --orders 2 --sets letter",
		Args:    cobra.NoArgs,
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.data, "data", "../../shared/data", "directory of the sets")
	f.IntVar(&o.orders, "orders", 10, "orders of the examples")
	f.IntVar(&o.rows, "rows", 20_000, "rounds, at most")
	f.StringSliceVar(&o.sets, "sets", nil, "names of sets, all if empty")
	f.StringVar(&o.match, "players", "", "play only players whose name contains this")
	c.RunE = func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) }
	return c
}

// options say what to play.
type options struct {
	data, match  string
	orders, rows int
	sets         []string
}

// run plays and writes the table to w.
func (o *options) run(ctx context.Context, w io.Writer) error {
	if o.orders < 2 || o.rows < 1 {
		return noregret.Errorf(noregret.Usage, "", "%d orders of %d rounds: want at least 2 of 1", o.orders, o.rows)
	}
	for _, s := range sets {
		if len(o.sets) > 0 && !slices.Contains(o.sets, s.name) {
			continue
		}
		p, err := load(ctx, filepath.Join(o.data, s.file), s.pool)
		if err != nil {
			return err
		}
		p.name = s.name
		if err := p.table(ctx, w, o.orders, o.rows, o.match); err != nil {
			return err
		}
	}
	return nil
}

// problem is a classification set: vectors x with the constant 1 first, and classes.
type problem struct {
	name    string
	x       [][]float64
	class   []int
	classes int
}

// order returns the examples of one order, the first of a permutation.
func (p *problem) order(seed uint64, rows int) *problem {
	out := &problem{name: p.name, classes: p.classes}
	for _, i := range random.New(seed, "contextual order").Perm(len(p.x))[:min(rows, len(p.x))] {
		out.x, out.class = append(out.x, p.x[i]), append(out.class, p.class[i])
	}
	return out
}

// table plays the orders and writes a line for each contestant.
func (p *problem) table(ctx context.Context, w io.Writer, orders, rows int, match string) error {
	losses := make([][]float64, len(contestants))
	for seed := range uint64(orders) {
		o := p.order(seed, rows)
		for i, c := range contestants {
			if !strings.Contains(c.name, match) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			loss, err := c.play(o, random.New(seed, c.name))
			if err != nil {
				return fmt.Errorf("%s on %s: %w", c.name, p.name, err)
			}
			losses[i] = append(losses[i], 100*loss/float64(len(o.x)))
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintf(t, "%s: %d rounds, %d arms, %d coordinates\n", p.name, min(rows, len(p.x)), p.classes, len(p.x[0]))
	for i, c := range contestants {
		if len(losses[i]) > 0 {
			mean, deviation := spread(losses[i])
			fmt.Fprintf(t, "| %s\t| %.2f ± %.2f\t|\n", c.name, mean, deviation)
		}
	}
	return t.Flush()
}

// spread returns the mean and the standard deviation.
func spread(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(deviation)
}
