package dataset

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/gzip"

	"github.com/noregret/noregret/internal/testsize"
)

// parsed is what a svmlight parser makes of a text, with the errors as text.
type parsed struct {
	Rows                       Block
	Labels                     []string
	At                         []uint32
	Bad                        []string
	BadRow                     []int
	MaxSeen, Ignored, BadLines int64
	SawZero                    bool
	Large                      map[int64][2]float64
	IndexBits                  []uint32
}

// parseBy parses text line by line or, if quick, as fast as it can.
func parseBy(t testing.TB, text []byte, opt Options, quick bool) parsed {
	opt, err := opt.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := newSVMParser(&opt)
	p.quick = quick
	c := &chunk{file: "x", data: text, line: 1}
	c.reset()
	p.parse(c)
	out := parsed{
		Rows: c.rows, At: c.at, MaxSeen: c.maxSeen, Ignored: c.ignored, BadLines: c.badLines, SawZero: c.sawZero,
		Large: map[int64][2]float64{},
	}
	for _, v := range c.rows.Value {
		out.IndexBits = append(out.IndexBits, math.Float32bits(v))
	}
	for i := range c.labels.len() {
		out.Labels = append(out.Labels, string(c.labels.at(i)))
	}
	for _, b := range c.bad {
		out.Bad, out.BadRow = append(out.Bad, b.err.Error()), append(out.BadRow, b.row)
	}
	for i, r := range c.large {
		out.Large[i] = [2]float64{r.low, r.high}
	}
	return out
}

// sameBoth fails unless both ways of parsing give the same.
func sameBoth(t testing.TB, text []byte, opt Options) {
	t.Helper()
	slow, quick := parseBy(t, text, opt, false), parseBy(t, text, opt, true)
	if diff := cmp.Diff(slow, quick, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%q: -line by line +quickly:\n%s", text[:min(len(text), 300)], diff)
	}
}

// randomNumber writes a number in one of the ways that files have, or nearly one.
func randomNumber(r *rand.Rand) string {
	v := math.Float64frombits(r.Uint64())
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + r.IntN(10))
		}
		return string(b)
	}
	sign := []string{"", "", "", "-", "+"}[r.IntN(5)]
	switch r.IntN(12) {
	case 0:
		return strconv.FormatFloat(v, 'g', -1, 64) // mostly out of range, NaN or subnormal
	case 1:
		return strconv.FormatFloat(float64(math.Float32frombits(r.Uint32())), 'g', -1, 32)
	case 2:
		return strconv.FormatFloat(r.NormFloat64(), 'f', r.IntN(20), 64)
	case 3:
		return strconv.FormatFloat(r.NormFloat64()*math.Pow(10, float64(r.IntN(90)-45)), 'e', r.IntN(20), 64)
	case 4:
		return sign + digits(r.IntN(25))
	case 5:
		return sign + digits(r.IntN(12)) + "." + digits(r.IntN(25))
	case 6:
		return sign + digits(1) + "." + digits(r.IntN(9))
	case 7:
		return sign + digits(1+r.IntN(3)) + "e" + []string{"", "-", "+"}[r.IntN(3)] + digits(r.IntN(4))
	case 8:
		return sign + "0." + strings.Repeat("0", r.IntN(45)) + digits(1+r.IntN(20))
	case 9:
		odd := []string{"1", "0", "-1", "0.0", "-0", "1.", ".5", "16777216", "16777217.5", "-16777215.9", "1e9"}
		return odd[r.IntN(len(odd))]
	default:
		return strconv.Itoa(r.IntN(1000))
	}
}

// TestLinesValues compares a million values with strconv's, bit for bit.
func TestLinesValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	opt, err := Options{Base: BaseOne, MaxBadLines: 1}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := newSVMParser(&opt)
	total := 0
	for total < 1_000_000 {
		var text []byte
		var want []uint32
		for len(want) < 20_000 {
			text = append(text, '1')
			for k := range 20 {
				s := randomNumber(r)
				v, err := strconv.ParseFloat(s, 64)
				if err != nil || !inFloat32(v) {
					continue
				}
				text = fmt.Appendf(text, " %d:%s", k*k*k*k*k+k+1, s)
				if v := float32(v); v != 0 {
					want = append(want, math.Float32bits(v))
				}
			}
			text = append(text, '\n')
		}
		c := &chunk{file: "x", data: text, line: 1}
		c.reset()
		if i, _ := p.lines(c, append(text, padding...), len(text), 0, 1); i != len(text) {
			t.Fatalf("left %.80q", text[i:])
		}
		for i, w := range want {
			if got := math.Float32bits(c.rows.Value[i]); got != w {
				t.Fatalf("value %d: %x, want %x", i, got, w)
			}
		}
		if len(want) != len(c.rows.Value) {
			t.Fatalf("%d values, want %d", len(c.rows.Value), len(want))
		}
		total += len(want)
	}
}

// TestLinesErrors parses random lines, many of them bad, in both ways.
func TestLinesErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	for range 3000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(pick("1", "-1", "+1", "1", "1", "spam", "", "?", "3:1", "nan", " 1", "\t-1"))
			idx := r.IntN(2)
			for range r.IntN(6) {
				b.WriteString(pick(" ", " ", " ", " ", " ", "  ", "\t", " \r", ""))
				idx += r.IntN(4)
				b.WriteString(pick("", "", "", "", "", "", "00", "-", "x", "qid:", "#"))
				fmt.Fprint(&b, []int{idx, idx, idx, idx, idx * 100, idx * 99999, idx * 99999999}[r.IntN(7)])
				b.WriteString(pick(":", ":", ":", ":", ":", ":", ":", " :", ""))
				b.WriteString(randomNumber(r))
				b.WriteString(pick("", "", "", "", "", "", "", "", "", "", "x", "e", "e5", "E-3", ":", "\x00", "é"))
			}
			b.WriteString(pick("", "", "", " ", "\r", " # comment", "#"))
			b.WriteString(pick("\n", "\n", "\n", "\n\n", "\r\n", ""))
		}
		for _, opt := range []Options{
			{MaxBadLines: 100},
			{MaxBadLines: 2, Base: BaseOne},
			{MaxBadLines: 100, AllowNoLabel: true, MaxDim: 1000},
			{MaxBadLines: 100, Schema: &Schema{Format: SVMLight, Base: BaseOne, Dim: 9}, Unseen: UnseenIgnore},
			{MaxBadLines: 100, Schema: &Schema{Format: SVMLight, Base: BaseZero, Dim: 9}},
		} {
			sameBoth(t, []byte(b.String()), opt)
		}
	}
}

// TestSharedLines parses real files in both ways.
func TestSharedLines(t *testing.T) {
	testsize.NoRace(t)
	for _, name := range []string{
		"ijcnn1/ijcnn1.libsvm.gz", "ijcnn1/ijcnn1.t.libsvm.gz", "a9a/a9a.libsvm.gz", "a9a/a9a.t.libsvm.gz",
		"w8a/w8a.libsvm.gz", "phishing/phishing-first8404.libsvm.gz", "abalone-regression/abalone.libsvm.gz",
	} {
		text := unpacked(t, sharedFile(t, name))
		for _, opt := range []Options{{}, {Base: BaseOne}} {
			slow, quick := parseBy(t, text, opt, false), parseBy(t, text, opt, true)
			if !reflect.DeepEqual(slow, quick) || len(quick.IndexBits) < 10_000 {
				t.Errorf("%s: %d rows, quickly %d, or they differ", name, slow.Rows.Len(), quick.Rows.Len())
			}
		}
	}
}

// unpacked returns the content of a gzip file.
func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// FuzzLines compares the two ways of parsing.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"+1 1:0.5 3:2 # c\r\n-1 2:1e1\n", "1 qid:3 0:1\n", "1 1:.5 2:-3. 77:12.345678901\n1",
		"1 1:16777217.25\n-1 12345678:123456789.123456789 2147483648:1",
		"1 1:0.123456789012345678901234567890 2:1e-45\n",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(255))
	}
	f.Fuzz(func(t *testing.T, data []byte, o uint8) {
		opt := Options{AllowNoLabel: o&1 != 0, MaxBadLines: int64(o >> 1 & 7)}
		if o&16 != 0 {
			opt.Schema = &Schema{Format: SVMLight, Base: BaseOne, Dim: int(o>>5) + 1}
			opt.Unseen = []Unseen{UnseenError, UnseenIgnore}[o&1]
		} else if o&32 != 0 {
			opt.Base = BaseOne
		}
		sameBoth(t, data, opt)
	})
}
