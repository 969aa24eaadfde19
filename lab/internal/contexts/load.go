package contexts

import (
	"context"
	"io"
	"math"

	"github.com/noregret/noregret/dataset"
)

// load reads a set. Each feature is standardized by its mean and deviation in the set and divided
// by the root of their number, so that vectors have lengths near √2. Pool, if it is not 0, is the
// width of the squares of pixels of a 28×28 image whose mean becomes one feature.
func load(ctx context.Context, path string, pool int) (*problem, error) {
	set, err := dataset.Load(ctx, []string{path}, dataset.Options{MemoryLimit: 1 << 29})
	if err != nil {
		return nil, err
	}
	defer set.Close()
	p, dim := &problem{classes: len(set.Info().Labels)}, set.Info().Dim
	r, err := set.Read()
	if err != nil {
		return nil, err
	}
	var b dataset.Block
	for {
		if err := r.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		for i := range b.Len() {
			x := make([]float64, dim)
			index, value := b.Row(i)
			for j, f := range index {
				x[f] = float64(value[j])
			}
			if pool > 0 {
				x = pooled(x, pool)
			}
			p.x, p.class = append(p.x, x), append(p.class, int(b.Class[i]))
		}
	}
	standardize(p.x)
	for i, x := range p.x {
		p.x[i] = append([]float64{1}, x...)
	}
	return p, nil
}

// pooled is the image of the means of squares.
func pooled(x []float64, width int) []float64 {
	const side = 28
	n := side / width
	out := make([]float64, n*n)
	for i, v := range x {
		out[i/side/width*n+i%side/width] += v / float64(width*width)
	}
	return out
}

// standardize scales the columns of x. Constant columns become 0.
func standardize(x [][]float64) {
	n, dim := float64(len(x)), len(x[0])
	for j := range dim {
		mean, square := 0.0, 0.0
		for _, row := range x {
			mean += row[j] / n
		}
		for _, row := range x {
			square += (row[j] - mean) * (row[j] - mean) / n
		}
		for _, row := range x {
			if row[j] -= mean; square > 0 {
				row[j] /= math.Sqrt(square * float64(dim))
			}
		}
	}
}
