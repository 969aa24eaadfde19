package parquet_test

import (
	"context"
	"fmt"
	"os"

	"github.com/noregret/noregret/inputs/parquet"
)

func Example() {
	f, err := os.Open("testdata/pyarrow.parquet")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	opt := parquet.DefaultOptions()
	opt.Ignore = []string{"i64", "u64", "f16", "f32", "f64", "long", "clock", "at", "local", "word", "none"}
	p, err := parquet.Open(f.Name(), f, st.Size(), opt)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := parquet.WriteCSV(context.Background(), os.Stdout, p); err != nil {
		fmt.Println(err)
	}
	// Output:
	// flag,i8,u32,price,day,kind,y
	// 1,-3,4294967295,-12345.67,1969-12-29,a,0
	// 0,-2,4294967294,-12344.67,1969-12-30,b,1
	// 1,-1,4294967293,-12343.67,1969-12-31,a,0
	// ,,,,,,1
	// 1,1,4294967291,-12341.67,1970-01-02,a,0
	// 0,2,4294967290,-12340.67,1970-01-03,b,1
	// 1,3,4294967289,-12339.67,1970-01-04,a,0
}
