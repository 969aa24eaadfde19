package papers

import (
	"math"
	"testing"
)

// The published table has 24 cells, and each is known by its norm, dimension and horizon.
func TestPublishedPrivate(t *testing.T) {
	type key struct {
		p           float64
		dim, rounds int
	}
	cells := map[key]float64{}
	for _, r := range PublishedPrivate() {
		cells[key{r.P, r.Dim, r.Rounds}] = r.Suboptimal
	}
	if len(cells) != 24 || cells[key{1.5, 10, 2000}] != 0.0595 || cells[key{math.Inf(1), 20, 10000}] != 0.363 {
		t.Errorf("%d cells: %v", len(cells), cells)
	}
}
