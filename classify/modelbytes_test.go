package classify

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// denseRows are rows of 13 columns without zeros and of the given number of classes: as many as
// arithmetic by vectors is for, with a rest of columns and of classes.
func denseRows(t *testing.T, n, classes int) Data {
	t.Helper()
	const columns = 13
	names := []string{"0", "1", "2", "3", "4", "5", "6"}[:classes]
	b, err := dataset.NewBuilder(columns, names...)
	if err != nil {
		t.Fatal(err)
	}
	rng := random.New(11, "dense")
	index := make([]uint32, columns)
	for i := range index {
		index[i] = uint32(i)
	}
	for range n {
		class, value := rng.IntN(classes), make([]float32, columns)
		for i := range value {
			value[i] = float32(rng.NormFloat64())
			if i%classes == class {
				value[i] += 1.5
			}
		}
		if err := b.Add(index, value, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	if classes > 2 {
		return builtData(t, b, Multiclass)
	}
	return builtData(t, b, Binary)
}

// TestDenseModelBytes: models of dense rows have the bytes that are written here, in a build with
// arithmetic by vectors (make simd) as in one without, on every architecture. A change of what is
// trained changes the digests: then put those that the error shows, which must be the same in both
// builds.
func TestDenseModelBytes(t *testing.T) {
	testsize.NoRace(t)
	macro, err := Multiclass.Measure("macro_f1")
	if err != nil {
		t.Fatal(err)
	}
	two, seven := denseRows(t, 900, 2), denseRows(t, 1200, 7)
	f1 := measure.FBeta{B: 1}
	for _, c := range []struct {
		name string
		d    Data
		opt  Options
		want string
	}{
		{"logistic", two, Options{Algorithm: "logistic", Measure: f1}, "5fa1996ff54c56dc"},
		{"softmax", seven, Options{Algorithm: "softmax", Measure: macro}, "0d7e66b12e917330"},
		{"auto of two classes", two, Options{Algorithm: Auto, Measure: f1}, "a8f7c4ff2d886b4a"},
		{"auto of products", rings(t, 900, 2), Options{Algorithm: Auto, Measure: f1}, "9c38a95a2c394bd2"},
		{"auto of seven classes", seven, Options{Algorithm: Auto, Measure: macro}, "59b874dab203ad92"},
	} {
		r, err := Fit(t.Context(), c.d, c.opt)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewModel(r, c.opt, c.d)
		if err != nil {
			t.Fatal(err)
		}
		if products := c.name == "auto of products"; products != (m.Transform != nil && m.Transform.Products != nil) {
			t.Errorf("%s: products are %v", c.name, products)
		}
		sum := sha256.Sum256(written(t, m))
		if got := hex.EncodeToString(sum[:8]); got != c.want {
			t.Errorf("%s: the model's digest is %s, want %s", c.name, got, c.want)
		}
	}
}
