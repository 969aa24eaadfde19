package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/noregret/noregret"
)

// fuzzText reads any bytes as a format: no panic, only errors about the data, valid blocks, and the
// same result from one goroutine with one piece as from three with small pieces.
func fuzzText(t *testing.T, data []byte, opt Options) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	opt.lineLimit = 1 << 16
	opt.Workers, opt.chunkBytes = 1, 1<<15
	a, errA := readAll(opt, path)
	if errA != nil && noregret.CodeOf(errA) != noregret.BadInput {
		t.Fatalf("code %q: %v", noregret.CodeOf(errA), errA)
	}
	opt.Workers, opt.chunkBytes = 3, 5
	b, errB := readAll(opt, path)
	if (errA == nil) != (errB == nil) || errA != nil && errA.Error() != errB.Error() {
		t.Fatalf("whole: %v\nin pieces: %v", errA, errB)
	}
	if a.Rows != b.Rows || a.NonZeros != b.NonZeros || a.BadLines != b.BadLines || errA == nil && a.Digest != b.Digest {
		t.Fatalf("whole: %+v\nin pieces: %+v", a, b)
	}
	if errA == nil && a.Rows > 0 {
		if err := a.Schema.Validate(); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzSVMLight(f *testing.F) {
	for _, s := range []string{
		"+1 1:0.5 3:2 # c\r\n-1 2:1e1\n", "1 qid:3 0:1\n", "? 1:1\n3:4\n",
		"1 1:nan\n2 2:1 2:1\n", "\xef\xbb\xbf1 9:9",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(255))
	}
	f.Fuzz(func(t *testing.T, data []byte, o uint8) {
		opt := Options{Format: SVMLight, AllowNoLabel: o&1 != 0, MaxBadLines: int64(o >> 1 & 7), Bits: int(o >> 4 & 3)}
		if o&128 != 0 {
			opt.Base = BaseZero
		}
		fuzzText(t, data, opt)
	})
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"a,b,y\n1,2,p\n0,-3.5,q\n", "1;x;p\n2;y;q\n", "c,y\n\"u\n\"\"v\",p\nw,q\n",
		"a\tb\n1\t\n", "x\"y,1\n", "\"open\n1,2\n", "a;b;y\n1,5;1.234,5 %;p\n2;-;q\n",
		"d,t,y\n2024-02-29,1700000001,p\n?,1700000002,q\n", "d;y\n2024-02-29 12:00;p\n2024-02-29T13:00Z;q\n",
		"date,m,y\n20240229,2023-09,p\n20240301,Sep 2024,q\n", "d;y\n10-Sep-23;p\nSept. 10, 2023;q\n20230910;q\n",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(255))
	}
	f.Fuzz(func(t *testing.T, data []byte, o uint8) {
		opt := Options{Format: CSV, AllowNoLabel: o&1 != 0, MaxBadLines: int64(o >> 1 & 7), Bits: int(o >> 4 & 3)}
		opt.Missing = []Missing{MissingError, MissingZero, MissingIndicator, ""}[o>>6]
		fuzzText(t, data, opt)
	})
}

func FuzzJSONL(f *testing.F) {
	for _, s := range []string{
		`{"label":1,"features":{"a":1.5,"c":"red","f":true,"n":null}}`,
		`{"label":"x","weight":2,"a":{"b":-1e3},"\u0041":0}` + "\n{}\n", `{"label":1,"id":[1,{"a":"]"}]}`,
		`{"date":20240229,"m":"2023-09","y":1}` + "\n" + `{"date":"x","m":"Sep 10, 2023","y":0}` + "\n",
		`{"label":1,"a":"1,5","d":"2024-02-29"}` + "\n" + `{"label":1,"a":2,"d":"x","t":1e9}` + "\n",
		`{"y":1,"a":{"label":2}}` + "\n" + `{"Target":0,"y":3,"a":1}` + "\n", `[{"class":"p","y":[}]`,
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(255))
	}
	f.Fuzz(func(t *testing.T, data []byte, o uint8) {
		opt := Options{Format: JSONL, AllowNoLabel: o&1 != 0, MaxBadLines: int64(o >> 1 & 7), Bits: int(o >> 4 & 3)}
		if o&64 != 0 {
			opt.IgnoreColumns = []string{"id"}
		}
		fuzzText(t, data, opt)
	})
}

func FuzzIDX(f *testing.F) {
	f.Add([]byte(idx([]int{2, 2}, 1, 2, 3, 4)), []byte(idx([]int{2}, 1, 2)))
	f.Add([]byte(idx([]int{1, 1, 1}, 0)), []byte(idx([]int{1}, 9)))
	f.Fuzz(func(t *testing.T, images, labels []byte) {
		dir := t.TempDir()
		i, l := filepath.Join(dir, "i"), filepath.Join(dir, "l")
		for name, data := range map[string][]byte{i: images, l: labels} {
			if err := os.WriteFile(name, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := readAll(Options{Format: IDX, lineLimit: 1 << 20}, i, l); err != nil &&
			noregret.CodeOf(err) != noregret.BadInput && noregret.CodeOf(err) != noregret.NotFound {
			t.Fatalf("code %q: %v", noregret.CodeOf(err), err)
		}
	})
}

// FuzzCache also mends the checksums, so that the rules behind them are reached.
func FuzzCache(f *testing.F) {
	path, _ := makeCache(f)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, false)
	f.Add(good, true)
	f.Add(good[:40], true)
	f.Fuzz(func(t *testing.T, data []byte, mend bool) {
		if mend {
			mendChecksums(data)
		}
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(Options{Format: Cache, AllowNoLabel: true}, path); err != nil &&
			noregret.CodeOf(err) != noregret.BadInput {
			t.Fatalf("code %q: %v", noregret.CodeOf(err), err)
		}
	})
}
