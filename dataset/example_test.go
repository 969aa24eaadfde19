package dataset_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/noregret/noregret/dataset"
)

// A stream is read block by block. Here standard input is replaced by a string.
func ExampleOpen() {
	text := "+1 1:0.5 3:2\n-1 2:1\n"
	s, err := dataset.Open(context.Background(), []string{"-"}, dataset.Options{Stdin: strings.NewReader(text)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	var b dataset.Block
	for {
		err := s.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range b.Len() {
			index, value := b.Row(i)
			fmt.Println(b.FirstRow+int64(i), s.Info().Labels[b.Class[i]].Name, index, value)
		}
	}
	fmt.Println(s.Info().Rows, "rows,", s.Info().Dim, "features")
	// Output:
	// 0 1 [0 2] [0.5 2]
	// 1 -1 [1] [1]
	// 2 rows, 3 features
}

// Categories become features of their own.
func ExampleLoad() {
	text := "colour,size,class\nred,1,spam\nblue,2,ham\nred,0,ham\n"
	set, err := dataset.Load(context.Background(), []string{"-"}, dataset.Options{Stdin: strings.NewReader(text)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = set.Close() }()
	info := set.Info()
	fmt.Println(info.Schema.Features)
	for _, l := range info.Labels {
		fmt.Println(l.Name, l.Rows)
	}
	positive, err := info.Positive("") // of two labels the rarer one
	fmt.Println(info.Labels[positive].Name, err)
	// Output:
	// [size colour=red colour=blue]
	// spam 1
	// ham 2
	// spam <nil>
}

// An error shows the place, the token and the rule.
func ExampleOptions_maxBadLines() {
	text := "1 1:1\n1 5:1 2:1\n0 1:2\n"
	for _, allowed := range []int64{0, 1} {
		set, err := dataset.Load(context.Background(), []string{"-"},
			dataset.Options{Stdin: strings.NewReader(text), MaxBadLines: allowed})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(set.Info().Rows, "rows,", set.Info().BadLines, "bad line")
		_ = set.Close() // in memory: nothing can fail
	}
	// Output:
	// standard input:2: token "2:1": index 2 after index 5; indices must ascend and be unique within a line
	// 2 rows, 1 bad line
}

// Rows made in code become a set by a Builder; a split of it is exact within each label.
func ExampleSet_Split() {
	b, err := dataset.NewBuilder(2, "-1", "1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 100 {
		class := 0
		if i%5 == 0 {
			class = 1
		}
		if err := b.Add([]uint32{0, 1}, []float32{float32(i), 1}, class, 1); err != nil {
			fmt.Println(err)
			return
		}
	}
	set, err := b.Set()
	if err != nil {
		fmt.Println(err)
		return
	}
	rest, valid, err := set.Split(1, "valid", 0.25, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rest.Info().Labels)
	fmt.Println(valid.Info().Labels)
	// Output:
	// [{-1 60 60} {1 15 15}]
	// [{-1 20 20} {1 5 5}]
}
