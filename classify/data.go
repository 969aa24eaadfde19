package classify

import (
	"context"
	"errors"
	"io"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
)

// Data is a set of examples of which one label counts as positive and all others as negative.
type Data struct {
	// Set holds the rows. Rows without a label are refused.
	Set *dataset.Set
	// Positive is the class number of the positive label, as [dataset.Info.Positive] finds it.
	Positive int

	// positives, if not nil, replaces Positive: it reports for every class number whether the class
	// is positive, and rows without a label are negative.
	positives []bool
}

// isPositive reports whether the class is positive.
func (d Data) isPositive(class int) bool {
	if d.positives != nil {
		return class < len(d.positives) && d.positives[class]
	}
	return class == d.Positive
}

// Classes holds the sizes of the two classes of a [Data].
type Classes struct {
	Positives, Negatives             int64   // numbers of rows
	PositiveWeight, NegativeWeight   float64 // sums of their weights
	PositiveLabel, NegativeLabelList string
}

// Rows is the number of rows of both classes.
func (c Classes) Rows() int64 { return c.Positives + c.Negatives }

// Share is p, the weighted share of positives.
func (c Classes) Share() float64 { return c.PositiveWeight / (c.PositiveWeight + c.NegativeWeight) }

// Classes counts the classes in O(number of labels). It fails with an error of code bad_input if a
// class is missing or has no weight, or if rows lack a label.
func (d Data) Classes() (Classes, error) {
	var c Classes
	if err := d.check(); err != nil {
		return c, err
	}
	info := d.Set.Info()
	for i, l := range info.Labels {
		if d.isPositive(i) {
			c.Positives += l.Rows
			c.PositiveWeight += l.Weight
			c.PositiveLabel = l.Name
		} else {
			c.Negatives += l.Rows
			c.NegativeWeight += l.Weight
			if c.NegativeLabelList != "" {
				c.NegativeLabelList += ", "
			}
			c.NegativeLabelList += l.Name
		}
	}
	if d.positives != nil && info.NoLabel > 0 {
		c.Negatives += info.NoLabel
		c.NegativeWeight = info.Weight - c.PositiveWeight
	}
	switch {
	case c.PositiveWeight+c.NegativeWeight == 0:
		return c, noregret.BadInputf("", "the weights of all %d rows add up to 0", c.Rows())
	case c.Positives == 0 || c.PositiveWeight == 0:
		return c,
			noregret.BadInputf("", "need both classes: there is no positive example (label %q) of positive weight "+
				"among %d rows",
				c.PositiveLabel, c.Rows())
	case c.Negatives == 0 || c.NegativeWeight == 0:
		return c, noregret.BadInputf("", "need both classes: there is no negative example of positive weight among "+
			"%d rows "+
			"(positive label %q)", c.Rows(), c.PositiveLabel)
	}
	return c, nil
}

// check returns an error if the Data is malformed.
func (d Data) check() error {
	if d.Set == nil {
		return usage("the data have no set of examples")
	}
	if d.positives != nil {
		return nil
	}
	info := d.Set.Info()
	if d.Positive < 0 || d.Positive >= len(info.Labels) {
		return usage("the positive label is number %d, want one of the %d labels, from 0", d.Positive, len(info.Labels))
	}
	if info.NoLabel > 0 {
		return noregret.BadInputf("", "%d of %d rows have no label", info.NoLabel, info.Rows)
	}
	return nil
}

// visit calls f for every row of positive weight that r reads, and closes r.
func (d Data) visit(ctx context.Context, r dataset.Reader, open error, f func(x Example) error) error {
	if open != nil {
		return open
	}
	if err := d.check(); err != nil {
		return errors.Join(err, r.Close())
	}
	return visitBlocks(ctx, r, func(b *dataset.Block) error { return d.visitBlock(b, f) })
}

// visitBlocks calls f for every block of r and closes r. It checks ctx once per block. A goroutine,
// which ends with visitBlocks, reads ahead, so that gathering rows and learning from them run in
// parallel.
func visitBlocks(ctx context.Context, r dataset.Reader, f func(b *dataset.Block) error) (err error) {
	blocks, empty, done := make(chan fetched, 2), make(chan *dataset.Block, 2), make(chan struct{})
	stop := make(chan struct{})
	for range cap(empty) {
		empty <- new(dataset.Block)
	}
	go func() {
		defer close(done)
		fetch(r, blocks, empty, stop)
	}()
	defer func() {
		close(stop)
		<-done
		err = errors.Join(err, r.Close())
	}()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := <-blocks
		if errors.Is(next.err, io.EOF) {
			return nil
		}
		if next.err != nil {
			return next.err
		}
		if err := f(next.block); err != nil {
			return err
		}
		empty <- next.block
	}
}

// fetched is a block read ahead, or the error that ended the reading.
type fetched struct {
	block *dataset.Block
	err   error
}

// fetch reads blocks ahead until the end, an error or stop.
func fetch(r dataset.Reader, blocks chan<- fetched, empty <-chan *dataset.Block, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case b := <-empty:
			err := r.Next(b)
			blocks <- fetched{b, err} // never blocks: the channel has capacity for all blocks
			if err != nil {
				return
			}
		}
	}
}

func (d Data) visitBlock(b *dataset.Block, f func(x Example) error) error {
	for i := range b.Len() {
		w := b.RowWeight(i)
		if w == 0 {
			continue
		}
		index, value := b.Row(i)
		if err := f(Example{index, value, d.isPositive(int(b.Class[i])), w}); err != nil {
			return err
		}
	}
	return nil
}

// read visits the rows in stored order.
func (d Data) read(ctx context.Context, f func(x Example) error) error {
	if err := d.check(); err != nil {
		return err
	}
	r, err := d.Set.Read()
	return d.visit(ctx, r, err, f)
}

// shuffled visits the rows in the order of the given pass.
func (d Data) shuffled(ctx context.Context, seed uint64, pass int, f func(x Example) error) error {
	r, err := d.Set.Shuffle(seed, pass)
	return d.visit(ctx, r, err, f)
}

// moments computes the features' moments in one pass.
func (d Data) moments(ctx context.Context) (*moments, error) {
	m := new(moments)
	err := d.read(ctx, func(x Example) error {
		m.observe(x.Index, x.Value, x.Weight)
		return nil
	})
	return m, err
}
