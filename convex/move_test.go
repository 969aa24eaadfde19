package convex_test

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/vec"
	"pgregory.net/rapid"
)

// The image of a projection under x ↦ c·x + x0 is the projection of the image.
func TestMoved(t *testing.T) {
	for _, kind := range setKinds {
		t.Run(kind.name, rapid.MakeCheck(func(t *rapid.T) {
			r := source(t)
			s := kind.make(r, dim(t))
			d := s.Dim()
			c, x0, v := math.Exp(r.NormFloat64()), normals(r, d, 1), normals(r, d, 3)
			m := must(convex.NewShifted(must(convex.NewScaled(s, c)), x0))
			x, moved := make([]float64, d), make([]float64, d)
			s.Project(x, v)
			for i := range v {
				moved[i] = c*v[i] + x0[i]
				x[i] = c*x[i] + x0[i]
			}
			m.Project(moved, moved)
			if g := vec.Norm2(sub(x, moved)); g > 1e-10*(1+vec.Norm2(x)) {
				t.Fatalf("%s: %v, want %v", m, moved, x)
			}
			if math.Abs(m.Diameter()-c*s.Diameter()) > 1e-9*c*s.Diameter() {
				t.Fatalf("diameter %v became %v under scaling by %v", s.Diameter(), m.Diameter(), c)
			}
		}))
	}
}
