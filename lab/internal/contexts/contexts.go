// Package contexts turns classification sets into contextual bandits and prints the table of
// lab/docs/contextual.md. An example is a round: its features are the context, its classes the
// arms, and the reward is 1 if the arm is the example's class and 0 if not; the other rewards are
// not shown (the conversion of Beygelzimer and Langford 2009). Every player sees the same orders of
// the examples. The table has the mean loss of a round, 1 − reward, in percent, with the standard
// deviation over the orders.
package contexts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/internal/study"
)

// set is a set with its file. Pool is how wide the squares of pixels are that become one feature, 0
// for sets that are not images.
type set struct {
	name, file string
	pool       int
}

var sets = []set{
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
	}
	f, o := c.Flags(), options{}
	f.StringVar(&o.data, "data", "../../shared/data", "directory of the sets")
	f.IntVar(&o.orders, "orders", 10, "orders of the examples")
	f.IntVar(&o.rows, "rows", 20_000, "rounds, at most")
	f.StringSliceVar(&o.sets, "sets", nil, "names of sets, all if empty")
	f.StringVar(&o.match, "players", "", "play only players whose name contains this")
	return study.New(c, "orders", o.run)
}

// options say what to play.
type options struct {
	data, match  string
	orders, rows int
	sets         []string
}

// run plays the sets, a table each.
func (o *options) run(ctx context.Context, r *study.Runner) (*study.Report, error) {
	if o.orders < 2 || o.rows < 1 {
		return nil, noregret.Errorf(noregret.Usage, "", "%d orders of %d rounds: want at least 2 of 1", o.orders,
			o.rows)
	}
	if err := study.Known("--sets", o.sets, study.Names(sets, func(s *set) string { return s.name })); err != nil {
		return nil, err
	}
	if players := study.Names(contestants, func(c *contestant) string { return c.name }); !slices.ContainsFunc(players,
		func(name string) bool { return strings.Contains(name, o.match) }) {
		return nil, study.Unknown("--players", o.match, players)
	}
	out := &study.Report{}
	for _, s := range sets {
		if len(o.sets) > 0 && !slices.Contains(o.sets, s.name) {
			continue
		}
		if _, err := os.Stat(filepath.Join(o.data, s.file)); errors.Is(err, fs.ErrNotExist) {
			return out, study.Missing(o.data, s.file)
		}
		p, err := load(ctx, filepath.Join(o.data, s.file), s.pool)
		if err != nil {
			return out, err
		}
		p.name = s.name
		t, err := p.table(ctx, r, o)
		if err != nil {
			return out, err
		}
		out.Tables = append(out.Tables, t)
	}
	return out, nil
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

// table plays the orders; it has a row for each contestant.
func (p *problem) table(ctx context.Context, r *study.Runner, o *options) (t study.Table, err error) {
	chosen := slices.Clone(contestants)
	chosen = slices.DeleteFunc(chosen, func(c contestant) bool { return !strings.Contains(c.name, o.match) })
	losses, err := study.Runs(ctx, r, o.orders, func(seed int) (row []float64, err error) {
		examples := p.order(uint64(seed), o.rows)
		for _, c := range chosen {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			loss, err := c.play(examples, random.New(uint64(seed), c.name))
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", c.name, p.name, err)
			}
			row = append(row, 100*loss/float64(len(examples.x)))
		}
		return row, nil
	})
	if err != nil {
		return t, err
	}
	t.Title = fmt.Sprintf("%s: %d rounds, %d arms, %d coordinates", p.name, min(o.rows, len(p.x)), p.classes,
		len(p.x[0]))
	t.Columns = []string{"player", "loss, %"}
	for i, c := range chosen {
		own := make([]float64, o.orders)
		for seed, row := range losses {
			own[seed] = row[i]
		}
		mean, deviation := study.Spread(own)
		t.Add(c.name, study.Estimate{Mean: mean, Error: deviation}.Cell("%.2f"))
	}
	return t, nil
}
