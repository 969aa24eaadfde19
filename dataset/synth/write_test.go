package synth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

func TestSVMLightText(t *testing.T) {
	var out bytes.Buffer
	w, err := NewSVMLightWriter(&out, 4)
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		y bool
		x []float64
	}{
		{true, []float64{1.5, 0, -2e-7, 1234567}},
		{false, []float64{0, 0, 0, 0}},
		{false, []float64{0, 1e-60, 1e30, 0.1}}, // 1e-60 is 0 in float32
	}
	for _, r := range rows {
		if err := w.Write(r.y, r.x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "+1 1:1.5 3:-2e-07 4:1234567\n-1\n-1 3:1e+30 4:0.1\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// Every value has at most nine digits and reads back as the float32 it was rounded to, whether the
// reader parses to float32 directly or by way of float64.
func TestValuesRoundTrip(t *testing.T) {
	g := mustNew(t, Fraud, 8)
	x := make([]float64, g.Dim())
	for range testsize.Of(5000, 1000) {
		g.Next(x)
		for _, v := range append(x, g.Normal()) {
			text := string(appendValue(nil, v))
			f32, err := strconv.ParseFloat(text, 32)
			if err != nil || float32(f32) != float32(v) {
				t.Fatalf("%v is written as %s and read as %v", v, text, f32)
			}
			f64, err := strconv.ParseFloat(text, 64)
			if err != nil || math.Abs(float64(float32(f64))-float64(float32(v))) > 0 {
				t.Fatalf("%v is written as %s and read by way of %v", v, text, f64)
			}
			mantissa, _, _ := strings.Cut(text, "e")
			if n := len(strings.Trim(strings.NewReplacer(".", "", "-", "").Replace(mantissa), "0")); n > 9 {
				t.Fatalf("%s has %d digits", text, n)
			}
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, columns := range [][]string{nil, {"a", ""}, {"a", "a"}, {"label"}, {"a,b"}, {"a\"b"}, {"a\nb"}, {" a"}} {
		if _, err := NewCSVWriter(io.Discard, columns); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("columns %q: %v, want a usage error", columns, err)
		}
	}
	if _, err := NewSVMLightWriter(io.Discard, 0); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("0 columns: %v, want a usage error", err)
	}
	var out bytes.Buffer
	w, err := NewSVMLightWriter(&out, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(true, []float64{1, 2, 3}); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("a long row: %v, want a usage error", err)
	}
	if err := w.Flush(); err != nil || out.Len() != 0 {
		t.Errorf("a refused row left %q, %v", out.String(), err)
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorIsReported(t *testing.T) {
	w, err := NewSVMLightWriter(fullDisk{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 100_000 {
		if err = w.Write(true, []float64{1}); err != nil {
			break
		}
	}
	if !errors.Is(err, errFull) || !errors.Is(w.Flush(), errFull) {
		t.Errorf("got %v and %v, want %v", err, w.Flush(), errFull)
	}
}

func TestWriteAllocatesNothing(t *testing.T) {
	g := mustNew(t, G1, 1)
	x := make([]float64, g.Dim())
	w, err := NewCSVWriter(io.Discard, g.Columns())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 { // let the row's buffer grow to its size
		if err := w.Write(g.Next(x), x); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { _ = w.Write(g.Next(x), x) }); n > 0.01 {
		t.Errorf("%v allocations per row", n)
	}
}

func ExampleNewCSVWriter() {
	spec := Spec{
		Name:         "dice",
		Columns:      []string{"face"},
		PositiveRate: 0.5,
		Features: func(g *Generator, positive bool, x []float64) {
			x[0] = 1 + math.Floor(6*g.Uniform())
			if positive {
				x[0] = 6 // loaded
			}
		},
	}
	g, err := New(spec, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := NewCSVWriter(os.Stdout, g.Columns())
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float64, g.Dim())
	for range 4 {
		if err := w.Write(g.Next(x), x); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// label,face
	// 1,6
	// 0,3
	// 1,6
	// 0,3
}
